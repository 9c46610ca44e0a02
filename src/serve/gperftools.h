// The CPU profile of gperftools, binary, and the names that go with it: what google-pprof and older
// scrapers ask for. Formats: gperftools' cpuprofile-fileformat.html and pprof_remote_servers.html.
//
// It has room for addresses and numbers of samples only. A sample here is a millisecond of CPU, so
// that the sum is right whatever the rate was. Waiting threads are not in it, and code that was
// made at run time has no names.
#pragma once

#include <string>
#include <string_view>

#include "recording/reader.h"
#include "serve/known_names.h"

namespace sampan::serve {

// Of the samples on CPU. Addresses are those that `names` gives frames.
std::string gperftools_profile(const recording::Recording& recording, KnownNames& names);

// "0x1000000001234+0x1000000005678" to a line each: "0x1000000001234\tname"; what is inlined into
// it follows, after "--" each. Of addresses without a name there is none. Of nothing: how many
// names there are.
std::string gperftools_symbols(std::string_view addresses, const KnownNames& names);

}  // namespace sampan::serve
