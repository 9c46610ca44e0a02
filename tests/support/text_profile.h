// Profiles as text, so that a test of an exporter or a report reads as "these stacks, that output".
//
//   # process 100 /usr/bin/app     pid, path of the executable
//   # thread 100 app               tid, name; of the process above
//   main;work;spin 3               root first, then how many samples, 4 ms of CPU each
//   main;work@app.c:10:12 2        defined in app.c in line 10, executing line 12 (else the same)
//   main;memcpy@@/lib/libc.so 1    in another module than the executable
//   main;run@w.py:3@[python] 1    a function of Python
//   main;run@w.py:3:5:9@[python] 1 executing what begins at column 9 of line 5
//   main;outer=>inner 1            inner is inlined into outer
//   ...;lost 1                     the walk did not reach the root
//   main;read;~read pipe:[7] 5     waits in read, of pipe:[7]; the recording is one of wall time
//   run;~GIL held by thread 7 w held in parse 5
//                                  waits for Python's lock; thread 7 is in `parse`
//   ~runnable 2                    waits for a CPU
//    2                             (a line without a stack) nothing is known
//
// A text that begins with stacks is of process 100, "/bin/app", and its main thread "app". Samples
// are 4 ms apart within a thread, the first at 4 ms; threads run side by side. Modules have the
// build-id {0xab, index}; addresses are 0x1000, 0x1010, ... in order of appearance.
#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::test {

inline constexpr uint64_t kSamplePeriod = 4'000'000;  // ns

// Throws Error, naming the line, when the text is not as above.
profile::Profile profile_of(std::string_view text);

// "# thread 100 app" and one line per stack, sorted: names only, and samples. Threads in the view's
// order, inlined frames as "outer=>inner".
std::string text_of(const profile::View& view);

}  // namespace sampan::test
