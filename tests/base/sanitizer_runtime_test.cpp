#include "base/sanitizer_runtime.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace sampan {
namespace {

std::string in_front(const std::string& list) {
  return list.substr(0, before_shim(list.c_str()));
}

TEST(BeforeShim, IsEverythingUpToTheLastRuntime) {
  EXPECT_EQ(in_front(""), "");
  EXPECT_EQ(in_front("libjemalloc.so.2"), "");
  EXPECT_EQ(in_front("/opt/libasan.so.d/other.so"), "");
  EXPECT_EQ(in_front("libasan.so.8"), "libasan.so.8");
  EXPECT_EQ(in_front("/usr/lib/libasan.so.8:libm.so.6"), "/usr/lib/libasan.so.8:");
  EXPECT_EQ(in_front("libm.so.6 libtsan.so.2 other.so"), "libm.so.6 libtsan.so.2 ");
  EXPECT_EQ(in_front("libasan.so.8::/shim.so:a.so"), "libasan.so.8:");
  EXPECT_EQ(in_front("/x/libclang_rt.asan-x86_64.so"), "/x/libclang_rt.asan-x86_64.so");
}

// A file with one segment that is mapped at `kBase`: the dynamic section and the names.
struct Program {
  static constexpr uint64_t kBase = 0x400000;
  Elf64_Ehdr header{};
  Elf64_Phdr segments[2]{};
  Elf64_Dyn dynamic[4]{};
  char names[160]{};

  explicit Program(const std::string& library) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phoff = offsetof(Program, segments);
    header.e_phnum = 2;
    segments[0] = {.p_type = PT_LOAD,
                   .p_flags = 0,
                   .p_offset = 0,
                   .p_vaddr = kBase,
                   .p_paddr = 0,
                   .p_filesz = sizeof(Program),
                   .p_memsz = sizeof(Program),
                   .p_align = 0};
    segments[1] = segments[0];
    segments[1].p_type = PT_DYNAMIC;
    segments[1].p_offset = offsetof(Program, dynamic);
    segments[1].p_filesz = sizeof dynamic;
    dynamic[0].d_tag = DT_NEEDED;
    dynamic[0].d_un.d_val = 1;
    dynamic[1].d_tag = DT_NEEDED;
    dynamic[1].d_un.d_val = 11;
    dynamic[2].d_tag = DT_STRTAB;
    dynamic[2].d_un.d_ptr = kBase + offsetof(Program, names);
    std::memcpy(names + 1, "libm.so.6", 9);
    library.copy(names + 11, sizeof names - 12);
  }
};

std::string runtime_of(const std::string& bytes) {
  const FileDescriptor file(memfd_create("program", MFD_CLOEXEC));
  EXPECT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return NeededLibraries(file.get()).runtime().c_str();
}

std::string runtime_of(const Program& program) {
  return runtime_of(std::string(reinterpret_cast<const char*>(&program), sizeof program));
}

TEST(NeededLibraries, FindsTheRuntimeThatMustBeFirst) {
  EXPECT_EQ(runtime_of(Program("libasan.so.8")), "libasan.so.8");
  EXPECT_EQ(runtime_of(Program("libclang_rt.asan-x86_64.so")), "libclang_rt.asan-x86_64.so");
  for (const char* other : {"", "libtsan.so.2", "libc.so.6"})
    EXPECT_EQ(runtime_of(Program(other)), "");
}

TEST(NeededLibraries, FindsNothingInDamagedFiles) {
  const Program whole("libasan.so.8");
  const std::string bytes(reinterpret_cast<const char*>(&whole), sizeof whole);
  for (size_t size = 0; size < offsetof(Program, names) + 12; ++size) {
    EXPECT_EQ(runtime_of(bytes.substr(0, size)), "") << size;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    runtime_of(damaged);  // ends
  }
  EXPECT_EQ(runtime_of(Program("libasan.so.8" + std::string(100, 'x'))), "");
}

}  // namespace
}  // namespace sampan
