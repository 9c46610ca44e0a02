// Markers as text, put into a profile of text_profile.h:
//
//   span 101 10 25 parse           of thread 101, from 10 ms to 25 ms, named "parse"
//   span 101 10 25 parse id=7 parent=3 text=x to=102 closed=2
//                                  its id (else 1, 2, ... in order), its parent's; `to`: ended by
//                                  another thread (kind kAcross); `closed`: Closed
//   event 101 12 flush text=full
//   counter 101 12 queue 3.5
//   section all 10 25 infer_1      of all threads of the first process
//   section 101 10 25 infer_1      of thread 101
//
// Times are in ms, fractions are good. Words have no spaces; "\s" stands for one.
#pragma once

#include <string_view>

#include "profile/profile.h"

namespace sampan::test {

// Throws Error, naming the line, when the text is not as above.
void add_markers(profile::Profile* profile, std::string_view text);

}  // namespace sampan::test
