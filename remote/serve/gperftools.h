// The binary CPU profile of gperftools, and the names that belong to it: for google-pprof and older
// scrapers. Formats: gperftools' cpuprofile-fileformat.html and pprof_remote_servers.html.
//
// The format has only addresses and sample counts. One sample stands for a millisecond of CPU here,
// so that the sum is correct at any sampling rate. Waiting threads are left out, and code generated
// at run time has no names.
#pragma once

#include <string>
#include <string_view>

#include "recording/reader.h"
#include "remote/serve/known_names.h"

namespace sampan::serve {

// Contains the samples on CPU. Addresses are those of KnownNames::address_of().
std::string gperftools_profile(const recording::Recording& recording, KnownNames& names);

// Answers "0x1000000001234+0x1000000005678" with a line for each address that has a name:
// "0x1000000001234\tname". Inlined functions come before their callers, separated by "--". Without
// addresses, answers with the number of names.
std::string gperftools_symbols(std::string_view addresses, const KnownNames& names);

}  // namespace sampan::serve
