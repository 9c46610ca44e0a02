// How the modules of this process are found.
#include "unwind/module_finder.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "unwind/cfi.h"

namespace sampan::unwind {
namespace {

int some_data = 1;

uint64_t avma_of(const void* object) {
  return reinterpret_cast<uint64_t>(object);
}

class ModuleFinderModeTest : public testing::TestWithParam<bool> {};

TEST_P(ModuleFinderModeTest, FindsCodeAndOnlyCode) {
  ModuleFinder finder;
  finder.start(GetParam() ? nullptr : find_object_by_loader());
  Module module{};
  const uint64_t code[] = {avma_of(reinterpret_cast<void*>(&avma_of)),
                           avma_of(reinterpret_cast<void*>(&std::qsort)),
                           avma_of(dlsym(RTLD_DEFAULT, "__cxa_throw"))};
  for (uint64_t pc : code) {
    ASSERT_TRUE(finder.find(pc, module)) << std::hex << pc;
    EXPECT_TRUE(module.contains_code(pc));
    EXPECT_TRUE(module.image.contains(module.eh_frame_hdr));
    uint64_t fde = 0;
    EXPECT_EQ(find_fde(module, pc, fde), CfiResult::kFound) << std::hex << pc;
  }
  if (const uint64_t vdso = getauxval(AT_SYSINFO_EHDR); vdso != 0) {
    ASSERT_TRUE(finder.find(vdso + 0x800, module));
#if !defined(__aarch64__)  // whose vDSO has no table of its unwind information
    EXPECT_TRUE(module.image.contains(module.eh_frame_hdr));
#endif
  }
  const std::vector<char> heap(100);
  for (uint64_t pc : {uint64_t{0}, uint64_t{1}, avma_of(&some_data), avma_of(&module),
                      avma_of(heap.data()), UINT64_MAX}) {
    EXPECT_FALSE(finder.find(pc, module)) << std::hex << pc;
  }
}
INSTANTIATE_TEST_SUITE_P(LoaderOrSnapshot, ModuleFinderModeTest, testing::Bool());

TEST(ModuleFinderTest, TheSnapshotFollowsTheLoader) {
  ModuleFinder finder;
  finder.start(nullptr);
  void* library = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no library to load";
  const uint64_t pc = avma_of(dlsym(library, "_Ux86_64_init_remote"));
  Module module{};
  EXPECT_FALSE(finder.find(pc, module));
  finder.refresh();
  EXPECT_TRUE(finder.find(pc, module));
  finder.after_fork(false);
  EXPECT_TRUE(finder.find(pc, module));
  finder.after_fork(true);
  EXPECT_FALSE(finder.find(pc, module));
  finder.refresh();
  EXPECT_TRUE(finder.find(pc, module));
  dlclose(library);
  finder.refresh();
  EXPECT_FALSE(finder.find(pc, module));
}

// `library` with its program headers in a segment of their own at the end, as BOLT and patchelf write it.
std::vector<char> with_moved_headers(std::vector<char> library) {
  constexpr size_t kPage = 65536;  // of any processor
  Elf64_Ehdr header;
  std::memcpy(&header, library.data(), sizeof header);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  std::memcpy(segments.data(), library.data() + header.e_phoff,
              header.e_phnum * sizeof segments[0]);
  uint64_t end = library.size();
  for (const Elf64_Phdr& segment : segments) end = std::max(end, segment.p_vaddr + segment.p_memsz);
  end = (end + kPage - 1) & ~(kPage - 1);
  const uint64_t size = (segments.size() + 1) * sizeof segments[0];
  // Behind the last of the segments that are loaded, for these are in the order of their addresses.
  const auto last = std::find_if(segments.rbegin(), segments.rend(),
                                 [](const Elf64_Phdr& entry) { return entry.p_type == PT_LOAD; });
  segments.insert(last.base(), {PT_LOAD, PF_R, end, end, end, size, size, kPage});
  std::memset(library.data() + header.e_phoff, 0, header.e_phnum * sizeof segments[0]);
  header.e_phoff = end;
  ++header.e_phnum;
  std::memcpy(library.data(), &header, sizeof header);
  library.resize(end);
  const char* const bytes = reinterpret_cast<const char*>(segments.data());
  library.insert(library.end(), bytes, bytes + size);
  return library;
}

TEST_P(ModuleFinderModeTest, FollowsProgramHeadersThatWereMoved) {
  ModuleFinder finder;
  finder.start(GetParam() ? nullptr : find_object_by_loader());
  Dl_info info;
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "hypot"), &info), 0);
  std::ifstream file(info.dli_fname, std::ios::binary);
  const std::string path = testing::TempDir() + "moved" + std::to_string(getpid()) + ".so";
  const std::vector<char> library =
      with_moved_headers({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  std::ofstream(path, std::ios::binary).write(library.data(), static_cast<long>(library.size()));
  void* const moved = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const error = dlerror();
  unlink(path.c_str());
  ASSERT_NE(moved, nullptr) << error;
  finder.refresh();
  const uint64_t pc = avma_of(dlsym(moved, "hypot"));
  Module module{};
  ASSERT_TRUE(finder.find(pc, module));
  uint64_t fde = 0;
  EXPECT_EQ(find_fde(module, pc, fde), CfiResult::kFound);
  dlclose(moved);
  finder.refresh();
  EXPECT_FALSE(finder.find(pc, module));
}

}  // namespace
}  // namespace sampan::unwind
