// Makes code at run time and describes it in jit-PID.dump in the current directory: "first" runs for
// a quarter of the CPU, then "second" replaces it at the same address for three quarters.
//
//   jit CPU_SECONDS
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace {

// dec %rdi; jnz to the first; ret
constexpr uint8_t kLoop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
using Loop = void (*)(uint64_t turns);

template <typename... Values>
std::string bytes(Values... values) {
  std::string text;
  (text.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  return text;
}

class Dump {
 public:
  Dump() {
    const std::string path = "jit-" + std::to_string(getpid()) + ".dump";
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    put(bytes(0x4a695444u, 1u, 40u, 62u, 0u, getpid(), sampan::monotonic_ns(), uint64_t{0}));
    // Profilers that see mappings find the file by this one.
    mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_, 0);
  }
  void loaded(const void* code, uint64_t index, const char* name) {
    std::string content = bytes(getpid(), getpid(), code, code, sizeof kLoop, index) + name;
    content.push_back('\0');
    content.append(reinterpret_cast<const char*>(kLoop), sizeof kLoop);
    put(bytes(0u, static_cast<uint32_t>(16 + content.size()), sampan::monotonic_ns()) + content);
  }

 private:
  void put(std::string_view text) {
    if (write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) abort();
  }
  int file_;
};

void run_for(Loop loop, double cpu_s) {
  const uint64_t until =
      sampan::read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + static_cast<uint64_t>(cpu_s * 1e9);
  while (sampan::read_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) loop(1'000'000);
}

}  // namespace

int main(int argc, char** argv) {
  const double cpu_s = argc > 1 ? std::atof(argv[1]) : 1;
  void* code =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  std::memcpy(code, kLoop, sizeof kLoop);
  Dump dump;
  dump.loaded(code, 1, "first");
  run_for(reinterpret_cast<Loop>(code), cpu_s / 4);
  dump.loaded(code, 2, "second");
  run_for(reinterpret_cast<Loop>(code), cpu_s * 3 / 4);
}
