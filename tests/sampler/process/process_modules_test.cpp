// The modules of other processes, and the functions that find them.
#include "sampler/process/process_modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "child.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/module_image.h"
#include "support/scratch_directory.h"

namespace sampan::sampler {
namespace {

namespace fs = std::filesystem;

TEST(MemoryMap, ReadsALine) {
  const auto range = parse_map_line(
      "7f0c8a000000-7f0c8a1d3000 r-xp 00026000 fe:10 1053204   /usr/lib/x86_64 y/libc.so.6");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->start, 0x7f0c8a000000u);
  EXPECT_EQ(range->end, 0x7f0c8a1d3000u);
  EXPECT_EQ(range->offset, 0x26000u);
  EXPECT_EQ(range->inode, 1053204u);
  EXPECT_EQ(major(static_cast<dev_t>(range->device)), 0xfeu);
  EXPECT_EQ(minor(static_cast<dev_t>(range->device)), 0x10u);
  EXPECT_EQ(range->path, "/usr/lib/x86_64 y/libc.so.6");
  EXPECT_TRUE(range->executable);
  EXPECT_FALSE(range->deleted);
}

TEST(MemoryMap, TellsFilesThatAreGone) {
  const auto gone = parse_map_line("1000-2000 r--p 00000000 00:01 7 /memfd:a\\012b (deleted)");
  ASSERT_TRUE(gone);
  EXPECT_TRUE(gone->deleted);
  EXPECT_EQ(gone->path, "/memfd:a\nb");
  const auto anonymous = parse_map_line("1000-2000 rw-p 00000000 00:00 0 ");
  ASSERT_TRUE(anonymous);
  EXPECT_EQ(anonymous->path, "");
}

TEST(MemoryMap, RefusesWhatMakesNoSense) {
  const std::string line = "1000-2000 r-xp 00000000 fe:00 7 /x";
  for (size_t size = 0; size < line.find("fe:00"); ++size) {
    EXPECT_FALSE(parse_map_line(line.substr(0, size))) << line.substr(0, size);
  }
  EXPECT_FALSE(parse_map_line("2000-1000 r-xp 00000000 fe:00 7 /x"));
  EXPECT_FALSE(parse_map_line("x000-1000 r-xp 00000000 fe:00 7 /x"));
}

// What the loader says about one of our modules.
struct Loaded {
  uint64_t bias;
  std::vector<uint64_t> code;  // an address in each executable segment
};
std::map<std::string, Loaded> loaded_modules() {
  std::map<std::string, Loaded> all;
  const auto add = [](dl_phdr_info* info, size_t, void* argument) {
    Loaded module{info->dlpi_addr, {}};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const Elf64_Phdr& segment = info->dlpi_phdr[i];
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
        module.code.push_back(info->dlpi_addr + segment.p_vaddr);
      }
    }
    std::string name = info->dlpi_name;
    if (name.empty()) name = fs::read_symlink("/proc/self/exe");
    if (name.starts_with("linux-vdso")) name = "[vdso]";
    if (name[0] == '/') name = fs::canonical(name);
    (*static_cast<std::map<std::string, Loaded>*>(argument))[name] = module;
    return 0;
  };
  dl_iterate_phdr(add, &all);
  return all;
}

TEST(ProcessModules, AreThoseOfTheLoader) {
  ProcessModules modules(getpid());
  const ProcessModules::Changes changes = modules.refresh(17);
  EXPECT_TRUE(changes.problems.empty()) << changes.problems[0];
  const std::map<std::string, Loaded> truth = loaded_modules();
  EXPECT_EQ(changes.loaded.size(), truth.size());
  for (const ModuleLoadRecord& record : changes.loaded) {
    SCOPED_TRACE(record.path);
    ASSERT_TRUE(truth.contains(record.path));
    EXPECT_EQ(record.bias, truth.at(record.path).bias);
    EXPECT_EQ(record.time_ns, 17u);
    EXPECT_FALSE(record.build_id.empty());
    for (const uint64_t code : truth.at(record.path).code) {
      unwind::Module module;
      ASSERT_TRUE(modules.find(code, module));
      EXPECT_TRUE(module.contains_code(code));
      EXPECT_TRUE(module.image.contains(module.eh_frame_hdr));
      EXPECT_LE(record.start_avma, code);
      EXPECT_GT(record.end_avma, code);
    }
  }
  unwind::Module module;
  EXPECT_FALSE(modules.find(reinterpret_cast<uint64_t>(&module), module));
}

TEST(ProcessModules, ComeAndGo) {
  ProcessModules modules(getpid());
  modules.refresh(1);
  const uint64_t generation = modules.generation();
  EXPECT_TRUE(modules.refresh(2).empty());
  EXPECT_EQ(modules.generation(), generation);

  void* const library = dlopen("libdl.so.2", RTLD_NOW);
  if (library == nullptr) GTEST_SKIP() << "no library to load: " << dlerror();
  const ProcessModules::Changes came = modules.refresh(3);
  ASSERT_EQ(came.loaded.size(), 1u);
  EXPECT_GT(modules.generation(), generation);
  const uint64_t code = reinterpret_cast<link_map*>(library)->l_addr + 0x1000;
  unwind::Module module;
  EXPECT_TRUE(modules.find(code, module));

  dlclose(library);
  const ProcessModules::Changes went = modules.refresh(4);
  ASSERT_EQ(went.unloaded.size(), 1u);
  EXPECT_EQ(went.unloaded[0].bias, came.loaded[0].bias);
  EXPECT_EQ(went.unloaded[0].start_avma, came.loaded[0].start_avma);
  EXPECT_FALSE(modules.find(code, module));
}

TEST(ProcessModules, APartThatTheProgramHasMappedItselfReachesNoFurther) {
  constexpr size_t kPageSize = 4096;
  ProcessModules modules(getpid());
  const ProcessModules::Changes before = modules.refresh(1);
  const auto maps = read_memory_map(getpid());
  const auto own = std::ranges::find_if(maps, [](const MappedRange& range) {
    return range.executable && range.path == fs::read_symlink("/proc/self/exe");
  });
  ASSERT_NE(own, maps.end());
  auto* const room = static_cast<uint8_t*>(
      mmap(nullptr, 3 * kPageSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const FileDescriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSERT_NE(mmap(room + kPageSize, kPageSize, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
                 file.get(), static_cast<off_t>(own->offset)),
            MAP_FAILED);
  const Avma start = Avma::at(reinterpret_cast<uint64_t>(room + kPageSize));

  const ProcessModules::Changes came = modules.refresh(2);
  ASSERT_EQ(came.loaded.size(), 1u);
  const ModuleLoadRecord& part = came.loaded[0];
  ASSERT_TRUE(part.part);
  EXPECT_EQ(part.part->start, start);
  EXPECT_EQ(part.part->end, start + kPageSize);
  EXPECT_EQ(svma_of(start, part.bias), svma_of(own->start, before.loaded[0].bias));
  EXPECT_EQ(part.build_id, before.loaded[0].build_id);
  unwind::Module module;
  EXPECT_FALSE(modules.find(start - 1, module));
  EXPECT_FALSE(modules.find(start + kPageSize, module));

  munmap(room, 3 * kPageSize);
  const ProcessModules::Changes went = modules.refresh(3);
  ASSERT_EQ(went.unloaded.size(), 1u);
  EXPECT_EQ(went.unloaded[0].start_avma, start);
}

// A child that runs a copy of a program, and the copy.
struct CopiedProgram {
  test::ScratchDirectory directory;
  std::string path = directory.file("sleeper");
  std::unique_ptr<Child> child;

  CopiedProgram() {
    fs::copy_file("/bin/sleep", path);
    child = std::make_unique<Child>([this] { execl(path.c_str(), path.c_str(), "1000", nullptr); });
    child->wait_until_blocked(SYS_clock_nanosleep);
  }
  ProcessModules::Changes changes() const {
    ProcessModules modules(child->pid());
    return modules.refresh(0);
  }
};

TEST(ProcessModules, AreFoundWhereverTheFileIs) {
  const CopiedProgram program;
  const ProcessModules::Changes before = program.changes();
  EXPECT_TRUE(before.hidden.empty());
  fs::remove(program.path);
  const ProcessModules::Changes deleted = program.changes();
  std::ofstream(program.path) << "another file";
  const ProcessModules::Changes replaced = program.changes();
  for (const ProcessModules::Changes* after : {&deleted, &replaced}) {
    EXPECT_TRUE(after->problems.empty());
    ASSERT_EQ(after->loaded.size(), before.loaded.size());
    EXPECT_EQ(after->loaded[0].path, program.path);
    EXPECT_EQ(after->loaded[0].build_id, before.loaded[0].build_id);
    ASSERT_EQ(after->hidden.size(), 1u);
    std::ifstream file(after->hidden[0].open_as());
    EXPECT_EQ(file.get(), 0x7f);
  }
}

TEST(ProcessModules, OfAFileThatWasCutShortCostNothingElse) {
  const std::string name = fs::canonical("/proc/self/exe");
  test::ScratchDirectory directory;
  const std::string path = directory.file("short");
  fs::copy_file(name, path);
  const int file = open(path.c_str(), O_RDONLY);
  // Mapped as the loader maps code, but never executed.
  void* const code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0x1000);
  ASSERT_NE(code, MAP_FAILED);
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  ProcessModules modules(getpid());
  const ProcessModules::Changes changes = modules.refresh(0);
  const auto is_short = [&](const auto& record) { return record.path == path; };
  EXPECT_EQ(std::count_if(changes.loaded.begin(), changes.loaded.end(), is_short), 0);
  ASSERT_EQ(changes.problems.size(), 1u);
  EXPECT_TRUE(changes.problems[0].starts_with(path)) << changes.problems[0];
  munmap(code, 4096);
  close(file);
}

// Reads truncated copies of a real program, of every size near its headers.
TEST(ElfLayout, ReadsNothingBeyondTheEnd) {
  std::ifstream file("/bin/sleep", std::ios::binary);
  const std::vector<char> whole((std::istreambuf_iterator<char>(file)), {});
  const auto layout_of = [&](size_t size) {
    return read_elf_layout([&whole, size](uint64_t offset, std::span<uint8_t> buffer) -> size_t {
      if (offset >= size) return 0;
      const size_t count = std::min<uint64_t>(buffer.size(), size - offset);
      std::memcpy(buffer.data(), whole.data() + offset, count);
      return count;
    });
  };
  const auto layout = layout_of(whole.size());
  ASSERT_TRUE(layout);
  EXPECT_FALSE(layout->build_id.empty());
  EXPECT_NE(layout->eh_frame_hdr, 0u);
  for (size_t size = 0; size < 2048; ++size) {
    const auto shorter = layout_of(size);
    EXPECT_TRUE(!shorter || shorter->build_id.empty() || shorter->build_id == layout->build_id);
  }
}

}  // namespace
}  // namespace sampan::sampler
