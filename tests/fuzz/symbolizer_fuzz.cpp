// Any bytes as an ELF file with DWARF: names may be missing, but nothing crashes, hangs or leaks.
//
// Start from small real files, for instance: echo 'int f(int x) { return x * 2; }' | gcc -x c -O2
// -g -shared -o CORPUS/f.so -
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "symbolizer/symbolizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("fuzz", MFD_CLOEXEC);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    return 0;

  sampan::profile::Profile profile;
  sampan::profile::Module module;
  module.path = "/proc/self/fd/" + std::to_string(file);
  profile.modules.push_back(module);
  // Small libraries have their code in the second page.
  for (uint64_t svma = 0x1000; svma < 0x1400; svma += 8) {
    profile.locations.push_back({0, svma, 0, 0});
  }
  sampan::symbolizer::symbolize(profile);
  for (const sampan::profile::Location& location : profile.locations) {
    if (location.line_count == 0) abort();
  }
  return 0;
}
