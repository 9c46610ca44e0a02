#include "sampler/tasks/asyncio_section.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sampler/process/memory_map.h"
#include "sampler/process/module_file.h"
#include "sampler/process/module_image.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

constexpr std::string_view kSection = ".AsyncioDebug";
constexpr uint64_t kLargestOffset = 1 << 22;  // no structure of an interpreter is larger

// The section as it is in memory, all of it numbers of 64 bits.
struct Stated {
  uint64_t task_size, task_name, task_awaited_by, task_is_task, task_awaited_by_is_set,
      task_coroutine, task_node;
  uint64_t interpreter_size, interpreter_tasks;
  uint64_t thread_size, running_loop, running_task, thread_tasks;
};

template <typename Row>
bool read_row(const ModuleBytes& bytes, uint64_t offset, Row& row) {
  return read_all(bytes, offset, {reinterpret_cast<uint8_t*>(&row), sizeof row});
}

// Its SVMA; 0: there is none. Format: System V ABI, chapter 4.
Svma find_section(const ModuleBytes& bytes) {
  Elf64_Ehdr file;
  Elf64_Shdr names, section;
  if (!read_row(bytes, 0, file) ||
      !read_row(bytes, file.e_shoff + file.e_shstrndx * sizeof names, names)) {
    return 0;
  }
  for (uint32_t i = 0; i < file.e_shnum; ++i) {
    std::array<char, kSection.size() + 1> name{};
    if (!read_row(bytes, file.e_shoff + i * sizeof section, section)) return 0;
    if (section.sh_size < sizeof(Stated) || section.sh_name >= names.sh_size ||
        !read_row(bytes, names.sh_offset + section.sh_name, name)) {
      continue;
    }
    if (std::string_view(name.data(), kSection.size()) == kSection && name.back() == '\0') {
      return Svma::at(section.sh_addr);
    }
  }
  return 0;
}

// A library of its own, or linked into the interpreter.
bool is_candidate(std::string_view path, bool is_program) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return is_program || name.starts_with("_asyncio") || name.starts_with("python") ||
         name.starts_with("libpython");
}

std::optional<AsyncioSection> section_at(pid_t pid, Avma avma) {
  Stated stated;
  if (read_process(pid, avma, &stated, sizeof stated) != sizeof stated) return std::nullopt;
  const AsyncioSection section = {
      .task_name = stated.task_name,
      .task_awaited_by = stated.task_awaited_by,
      .task_coroutine = stated.task_coroutine,
      .task_node = stated.task_node,
      .interpreter_tasks = stated.interpreter_tasks,
      .thread_tasks = stated.thread_tasks,
      .running_loop = stated.running_loop,
      .running_task = stated.running_task,
  };
  for (const uint64_t offset : {section.task_name, section.task_awaited_by, section.task_coroutine,
                                section.task_node, section.interpreter_tasks, section.thread_tasks,
                                section.running_loop, section.running_task}) {
    if (offset < 2 * sizeof(uint64_t) || offset > kLargestOffset) return std::nullopt;
  }
  return section;
}

}  // namespace

std::optional<AsyncioSection> find_asyncio_section(pid_t pid) {
  const std::vector<MappedRange> map = read_memory_map(pid);
  bool is_program = true;
  for (const MappedRange& range : map) {
    if (range.inode == 0 || range.offset != 0) continue;
    const bool is_wanted = is_candidate(range.path, is_program);
    is_program = false;
    if (!is_wanted) continue;
    const ModuleFile file = open_module(pid, range, map);
    const Svma section = find_section(file.bytes);
    const auto layout = section != 0 ? read_elf_layout(file.bytes) : std::nullopt;
    if (!layout) continue;
    return section_at(pid, avma_of(section, range.start - layout->begin()));
  }
  return std::nullopt;
}

}  // namespace sampan::sampler
