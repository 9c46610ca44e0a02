// Makes code at run time and registers it by GDB's JIT interface ("Debugging with GDB", JIT Compilation
// Interface), with ELF files that it makes in its memory.
//
//   gdb_jit CPU_SECONDS MODE
//
// together  "first" has a quarter of the CPU, in a relocatable file, as LLVM makes them; "jit::second(int)" has
//           the rest, in a program's file. Both are called by "caller", which has a stack frame and no frame
//           pointer
// replaced  "first" has a quarter; it is unregistered, and "other" takes its place, its entry and its file
// gone      "first" has a quarter; it is unregistered, and other code runs in its place
// hostile   as together, but the list goes on: with files that cannot be read, whose sizes lie, that make no
//           sense, and with an entry that leads back
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "tests/support/elf_symbols.h"

struct JitCodeEntry {
  JitCodeEntry* next_entry;
  JitCodeEntry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};

struct JitDescriptor {
  uint32_t version;
  uint32_t action_flag;
  JitCodeEntry* relevant_entry;
  JitCodeEntry* first_entry;
};

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the interface
[[gnu::used]] JitDescriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
[[gnu::noinline, gnu::used]] void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
// NOLINTEND(readability-identifier-naming)
}

namespace {

namespace test = sampan::test;

enum Action : uint32_t { kRegister = 1, kUnregister = 2 };

// dec %rdi; jnz to the first; ret
constexpr uint8_t kLoop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
// push %rbx; sub $32,%rsp; mov %rsp,%rbx; call *%rsi; add $32,%rsp; pop %rbx; ret
constexpr uint8_t kCaller[] = {0x53, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xe3,
                               0xff, 0xd6, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3};
using Caller = void (*)(uint64_t turns, const void* loop);

// An entry of the list, with its file.
struct Registration {
  std::string file;
  JitCodeEntry entry{};

  void add(const std::string& its_file) {
    file = its_file;
    entry = {__jit_debug_descriptor.first_entry, nullptr, file.data(), file.size()};
    if (entry.next_entry != nullptr) entry.next_entry->prev_entry = &entry;
    __jit_debug_descriptor.first_entry = &entry;
    announce(kRegister);
  }
  // Nothing was added later.
  void remove() {
    __jit_debug_descriptor.first_entry = entry.next_entry;
    if (entry.next_entry != nullptr) entry.next_entry->prev_entry = nullptr;
    announce(kUnregister);
  }

 private:
  void announce(Action action) {
    __jit_debug_descriptor.relevant_entry = &entry;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
  }
};

// Executable memory, and what is in it.
struct Room {
  uint8_t* const start = static_cast<uint8_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  uint8_t* const caller = start + 64;
  uint8_t* const first = start + 128;
  uint8_t* const second = start + 192;

  Room() {
    if (start == MAP_FAILED) abort();
    std::memcpy(caller, kCaller, sizeof kCaller);
    std::memcpy(first, kLoop, sizeof kLoop);
    std::memcpy(second, kLoop, sizeof kLoop);
  }
  void run(const void* loop, double cpu_s) const {
    const uint64_t until =
        sampan::read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + static_cast<uint64_t>(cpu_s * 1e9);
    while (sampan::read_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
      reinterpret_cast<Caller>(caller)(1'000'000, loop);
    }
  }
  std::string relocatable(const char* name) const {
    return test::elf_of_symbols(ET_REL, start, 4096,
                                {{"caller", caller, sizeof kCaller}, {name, first, sizeof kLoop}});
  }
};

// In front of what is registered properly: none of them may keep that from being found.
void register_nonsense(const Room& room) {
  static Registration entries[7];
  const std::string good = room.relocatable("wrong");
  const auto with = [&](auto change) {
    std::string file = good;
    change(*reinterpret_cast<Elf64_Ehdr*>(file.data()),
           reinterpret_cast<Elf64_Shdr*>(file.data() + sizeof(Elf64_Ehdr)));
    return file;
  };
  entries[0].add(with([](Elf64_Ehdr& file, Elf64_Shdr*) { file.e_shoff = UINT64_MAX - 7; }));
  entries[1].add(
      with([](Elf64_Ehdr&, Elf64_Shdr* sections) { sections[2].sh_size = uint64_t{1} << 60; }));
  entries[2].add(with([](Elf64_Ehdr&, Elf64_Shdr* sections) { sections[2].sh_link = 77; }));
  entries[3].add(
      with([](Elf64_Ehdr&, Elf64_Shdr* sections) { sections[3].sh_size = uint64_t{63} << 20; }));
  entries[4].add(std::string(5000, '\xff'));
  entries[5].add(good);
  entries[5].entry.symfile_addr = reinterpret_cast<const char*>(0xdead0000);
  entries[6].add(good.substr(0, 100));
  entries[6].entry.symfile_size = UINT64_MAX;
}

}  // namespace

int main(int argc, char** argv) {
  const double cpu_s = argc > 1 ? std::atof(argv[1]) : 1;
  const std::string_view mode = argc > 2 ? argv[2] : "together";
  const Room room;
  static Registration first, second;
  first.add(room.relocatable("first"));
  if (mode == "together" || mode == "hostile") {
    second.add(test::elf_of_symbols(ET_EXEC, room.start, 4096,
                                    {{"_ZN3jit6secondEi", room.second, sizeof kLoop}}));
    if (mode == "hostile") {
      register_nonsense(room);
      first.entry.next_entry = &second.entry;
    }
    room.run(room.first, cpu_s / 4);
    room.run(room.second, cpu_s * 3 / 4);
    return 0;
  }
  room.run(room.first, cpu_s / 4);
  first.remove();
  if (mode == "replaced") first.add(room.relocatable("other"));
  room.run(room.first, cpu_s * 3 / 4);
}
