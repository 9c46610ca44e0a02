#include "sampler/process/process_modules.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>

#include "sampler/process/memory_map.h"
#include "sampler/process/module_file.h"
#include "sampler/process/module_image.h"

namespace sampan::sampler {
namespace {

struct LoadedModule {
  uint64_t device;
  uint64_t inode;
  ModuleLoadRecord record;
  ElfLayout layout;
  ModuleBytes bytes;                  // until `unwind` has been read
  std::optional<UnwindImage> unwind;  // read when it is needed first
  bool seen;                          // in the refresh under way
};

struct Code {
  Avma start;
  Avma end;
  LoadedModule* module;
};

bool is_anonymous(const MappedRange& range) {
  return range.inode == 0 && (range.path.empty() || range.path.starts_with("[anon"));
}

bool is_module(const MappedRange& range) {
  return range.moved_code || (range.executable && (range.inode != 0 || range.path == "[vdso]"));
}

bool same_file(const MappedRange& a, const MappedRange& b) {
  return a.device == b.device && a.inode == b.inode && a.path == b.path;
}

// A program may have moved a copy of its code over the code that was mapped, to have it on large pages. Then the file's mapping
// before it tells where the file is: executable memory between two mappings of one file is the file's.
void note_moved_code(std::vector<MappedRange>& map) {
  for (size_t i = 1; i + 1 < map.size(); ++i) {
    if (!map[i].executable || !is_anonymous(map[i])) continue;
    size_t before = i - 1, after = i + 1;
    while (before > 0 && is_anonymous(map[before])) --before;
    while (after + 1 < map.size() && is_anonymous(map[after])) ++after;
    if (map[before].inode != 0 && same_file(map[before], map[after])) map[before].moved_code = true;
  }
}

// What must be added to SVMAs, if `range` is of a segment of the file; nothing otherwise.
std::optional<uint64_t> bias_of(const ElfLayout& layout, const MappedRange& range) {
  const ElfLayout::Segment* const segment = layout.mapped_from(range.offset, range.executable);
  if (segment == nullptr) return std::nullopt;
  return uint64_t{range.start} - range.offset - (segment->svma - segment->offset);
}

// The loader maps a file from its beginning on.
bool is_whole(const ElfLayout& layout, const MappedRange& range, uint64_t bias,
              const std::vector<MappedRange>& map) {
  const Avma begin = avma_of(layout.begin(), bias);
  return std::ranges::any_of(map, [&](const MappedRange& other) {
    return other.start == begin && same_file(other, range);
  });
}

}  // namespace

struct ProcessModules::State {
  pid_t pid;
  uint64_t generation = 0;
  std::vector<std::unique_ptr<LoadedModule>> modules;
  std::vector<std::unique_ptr<LoadedModule>> gone;  // since the last refresh; still referred to
  std::vector<Code> code;                           // by start
  // Executable mappings that are no modules: they are not read twice.
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> others;  // device, inode, start

  LoadedModule* find_known(const MappedRange& range) const;
  void add(const MappedRange& range, const std::vector<MappedRange>& map, MonotonicNs time_ns,
           Changes& changes);
  void drop_gone(MonotonicNs time_ns, Changes& changes);
  void index_code();
};

LoadedModule* ProcessModules::State::find_known(const MappedRange& range) const {
  for (const auto& module : modules) {
    if (module->device == range.device && module->inode == range.inode &&
        module->record.path == range.path &&
        bias_of(module->layout, range) == module->record.bias &&
        (!module->record.part || module->record.part->start == range.start)) {
      return module.get();
    }
  }
  return nullptr;
}

void ProcessModules::State::add(const MappedRange& range, const std::vector<MappedRange>& map,
                                MonotonicNs time_ns, Changes& changes) {
  if (!others.emplace(range.device, range.inode, range.start).second) return;
  ModuleFile file = open_module(pid, range, map);
  std::optional<ElfLayout> layout = read_elf_layout(file.bytes);
  const std::optional<uint64_t> bias = layout ? bias_of(*layout, range) : std::nullopt;
  if (!bias) {
    // Code that was compiled at run time may lie in a file, too.
    uint8_t magic[SELFMAG];
    const bool readable = read_all(file.bytes, 0, magic);
    if (readable && std::memcmp(magic, ELFMAG, SELFMAG) != 0) return;
    changes.problems.push_back(fmt::format(
        "{}: {}; its functions have no names", range.path,
        readable ? "it is not mapped as its ELF headers say" : "the mapped file cannot be read"));
    return;
  }
  others.erase({range.device, range.inode, range.start});
  auto module = std::make_unique<LoadedModule>();
  module->device = range.device;
  module->inode = range.inode;
  module->record = {time_ns,
                    *bias,
                    avma_of(layout->begin(), *bias),
                    avma_of(layout->end(), *bias),
                    layout->build_id,
                    range.path,
                    is_whole(*layout, range, *bias, map)
                        ? std::nullopt
                        : std::optional(AvmaRange{range.start, range.end})};
  module->layout = std::move(*layout);
  module->bytes = std::move(file.bytes);
  module->seen = true;
  changes.loaded.push_back(module->record);
  if (file.file != nullptr) {
    changes.files.push_back({range.path, module->layout.build_id, std::move(file.file)});
    const HiddenFile& opened = changes.files.back();
    if (!is_at_path(opened.file, opened.path)) changes.hidden.push_back(opened);
  }
  modules.push_back(std::move(module));
}

void ProcessModules::State::drop_gone(MonotonicNs time_ns, Changes& changes) {
  gone.clear();
  const auto first_gone = std::stable_partition(modules.begin(), modules.end(),
                                                [](const auto& module) { return module->seen; });
  for (auto it = first_gone; it != modules.end(); ++it) {
    const ModuleLoadRecord& record = (*it)->record;
    changes.unloaded.push_back({time_ns, record.bias, record.first_avma()});
    gone.push_back(std::move(*it));
  }
  modules.erase(first_gone, modules.end());
}

void ProcessModules::State::index_code() {
  code.clear();
  for (const auto& module : modules) {
    for (const ElfLayout::Segment& segment : module->layout.segments) {
      if (!segment.executable) continue;
      Avma start = avma_of(segment.svma, module->record.bias);
      Avma end = start + segment.file_size;
      if (const auto& part = module->record.part) {
        start = std::max(start, part->start);
        end = std::min(end, part->end);
      }
      if (start < end) code.push_back({start, end, module.get()});
    }
  }
  std::sort(code.begin(), code.end(),
            [](const Code& a, const Code& b) { return a.start < b.start; });
}

ProcessModules::ProcessModules(pid_t pid) : state_(std::make_unique<State>()) {
  state_->pid = pid;
}
ProcessModules::~ProcessModules() = default;
ProcessModules::ProcessModules(ProcessModules&&) noexcept = default;

ProcessModules::Changes ProcessModules::refresh(MonotonicNs time_ns) {
  Changes changes;
  std::vector<MappedRange> map = read_memory_map(state_->pid);
  note_moved_code(map);
  if (map.empty()) return changes;  // the process is gone; what is known stays true
  for (const auto& module : state_->modules) module->seen = false;
  for (const MappedRange& range : map) {
    if (!is_module(range)) continue;
    if (LoadedModule* known = state_->find_known(range)) {
      known->seen = true;
    } else {
      state_->add(range, map, time_ns, changes);
    }
  }
  state_->drop_gone(time_ns, changes);
  if (!changes.empty()) {
    state_->index_code();
    ++state_->generation;
  }
  return changes;
}

bool ProcessModules::find(uint64_t pc, unwind::Module& module) const {
  const std::vector<Code>& code = state_->code;
  const auto after =
      std::upper_bound(code.begin(), code.end(), pc,
                       [](uint64_t value, const Code& entry) { return value < entry.start; });
  if (after == code.begin() || pc >= std::prev(after)->end) return false;
  const Code& found = *std::prev(after);
  LoadedModule& loaded = *found.module;
  if (!loaded.unwind) {
    loaded.unwind.emplace(loaded.layout, loaded.record.bias, loaded.bytes);
    loaded.bytes = nullptr;
  }
  module = {found.start, found.end, loaded.unwind->eh_frame_hdr(), loaded.unwind->image()};
  return true;
}

pid_t ProcessModules::pid() const {
  return state_->pid;
}

uint64_t ProcessModules::generation() const {
  return state_->generation;
}

}  // namespace sampan::sampler
