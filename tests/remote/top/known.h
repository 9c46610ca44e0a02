// The capture that top's tests use: three threads, two of them a pool, for one second.
#pragma once

#include <string>
#include <string_view>

#include "base/units.h"
#include "remote/top/history.h"
#include "support/text_profile.h"

namespace sampan::top {

// 25 samples are 0.1 s: the main thread uses 20 % of a core, worker-1 30 %, worker-2 10 %.
inline constexpr std::string_view kKnown =
    "main;serve;parse 25\n"
    "main;serve 15\n"
    "main;log 10\n"
    "main;serve;poll;~poll tcp 10.0.0.1:443 100\n"
    "# thread 101 worker-1\n"
    "start;work;hash 50\n"
    "start;work;hash;mix 25\n"
    "# thread 102 worker-2\n"
    "start;work;hash 25\n"
    "~runnable 50\n";

// The begin of a later slice: functions are numbered by their order in the text.
inline constexpr std::string_view kKnownFrames =
    "main;serve;parse 0\n"
    "main;log 0\n"
    "main;serve;poll;~poll tcp 10.0.0.1:443 0\n"
    "start;work;hash;mix 0\n";

inline void see(History* history, std::string_view text = kKnown, SessionNs from_ns = 0,
                SessionNs to_ns = kNsPerSecond) {
  history->add(test::profile_of(text), from_ns, to_ns);
}
inline void see_more(History* history, std::string_view text, SessionNs from_ns, SessionNs to_ns) {
  see(history, std::string(kKnownFrames) + std::string(text), from_ns, to_ns);
}

}  // namespace sampan::top
