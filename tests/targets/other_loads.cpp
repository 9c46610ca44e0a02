// Loads a library in a way that leaves no path to it, and uses half a second of CPU in its function.
//
//   other_loads dlmopen LIBRARY    into a namespace of its own
//   other_loads memfd LIBRARY      a copy that is in memory only
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

void* load_from_memory(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const int copy = memfd_create("copied library", MFD_CLOEXEC);
  while (sendfile(copy, file, nullptr, 1 << 30) > 0) continue;
  void* const library = dlopen(("/proc/self/fd/" + std::to_string(copy)).c_str(), RTLD_NOW);
  close(copy);
  close(file);
  return library;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* const library = std::string_view(argv[1]) == "dlmopen"
                            ? dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW)
                            : load_from_memory(argv[2]);
  if (library == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  const auto burn = reinterpret_cast<uint64_t (*)(double)>(dlsym(library, "burn_in_library"));
  burn(0.5);
}
