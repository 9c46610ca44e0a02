#include "sampler/process/python_runtime.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/units.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/module_file.h"
#include "sampler/process/module_image.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {

// Offsets in bytes. Sources: Include/internal/pycore_{runtime,interp,gil,ceval_state}.h and
// Include/cpython/pystate.h of each version.
struct PythonRuntimeLayout {
  uint32_t version;  // PY_VERSION_HEX >> 16

  // _PyRuntimeState
  uint16_t first_interpreter;
  uint16_t gil;  // the only one, itself; 0: each interpreter points to one

  // PyInterpreterState
  uint16_t next_interpreter;
  uint16_t gil_pointer;

  // PyThreadState
  uint16_t native_thread_id;  // 0: there is none
};

namespace {

constexpr PythonRuntimeLayout kLayouts[] = {
    {0x0309, 32, 352, 0, 0, 0},   {0x030a, 32, 352, 0, 0, 0},      {0x030b, 40, 360, 0, 0, 160},
    {0x030c, 40, 0, 0, 384, 144}, {0x030d, 632, 0, 7264, 16, 160},
};
// struct _gil_runtime_state: from its last holder to the end of its two condition variables.
constexpr uint64_t kGilSize = 208, kLastHolder = 8;
constexpr size_t kMostInterpreters = 256;
constexpr uint64_t kLookInterval = kNsPerSecond;
constexpr uint64_t kLargestSection = uint64_t{16} << 20;

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// "python3.9", "libpython3.10.so.1.0": versions that have no symbol for it.
uint32_t version_in_name(std::string_view name) {
  constexpr std::string_view kPython = "python3.";
  const size_t at = name.find(kPython);
  if (at == std::string_view::npos) return 0;
  uint32_t minor = 0;
  const char* const digits = name.data() + at + kPython.size();
  std::from_chars(digits, name.data() + name.size(), minor);
  return minor < 0x100 ? 0x0300 | minor : 0;
}

struct Symbols {
  Svma runtime = 0;
  Svma version = 0;
};

template <typename Row>
bool read_row(const ModuleBytes& bytes, uint64_t offset, Row& row) {
  return read_all(bytes, offset, {reinterpret_cast<uint8_t*>(&row), sizeof row});
}

// The section's content; empty when it cannot be read, or is larger than any of an interpreter.
std::vector<uint8_t> content(const ModuleBytes& bytes, const Elf64_Shdr& section) {
  std::vector<uint8_t> content(section.sh_size <= kLargestSection ? section.sh_size : 0);
  if (!read_all(bytes, section.sh_offset, content)) content.clear();
  return content;
}

// Dynamic symbols are there in stripped files, too. Format: System V ABI, chapter 4.
Symbols find_symbols(const ModuleBytes& bytes) {
  Symbols found;
  Elf64_Ehdr file;
  Elf64_Shdr section{}, names{};
  if (!read_row(bytes, 0, file)) return found;
  const auto section_at = [&](uint32_t index, Elf64_Shdr& header) {
    return index < file.e_shnum && read_row(bytes, file.e_shoff + index * sizeof header, header);
  };
  uint32_t index = 0;
  while (section_at(index, section) && section.sh_type != SHT_DYNSYM) ++index;
  if (section.sh_type != SHT_DYNSYM || !section_at(section.sh_link, names)) return found;
  const std::vector<uint8_t> symbols = content(bytes, section), text = content(bytes, names);
  const std::string_view all_names(reinterpret_cast<const char*>(text.data()), text.size());
  Elf64_Sym symbol;
  for (size_t at = 0; at + sizeof symbol <= symbols.size(); at += sizeof symbol) {
    std::memcpy(&symbol, &symbols[at], sizeof symbol);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= all_names.size()) continue;
    const std::string_view rest = all_names.substr(symbol.st_name);
    const std::string_view name = rest.substr(0, rest.find('\0'));
    if (name == "_PyRuntime") found.runtime = Svma::at(symbol.st_value);
    if (name == "Py_Version") found.version = Svma::at(symbol.st_value);
  }
  return found;
}

}  // namespace

bool PythonRuntime::is_gil(Avma futex, MonotonicNs now_ns) {
  if (gil_of(futex) != 0) return true;
  if (looked_ns_ != 0 && now_ns - looked_ns_ < kLookInterval) return false;
  looked_ns_ = now_ns;
  if (layout_ == nullptr) find();
  if (layout_ != nullptr) read_gils();
  return gil_of(futex) != 0;
}

std::optional<pid_t> PythonRuntime::gil_holder(Avma futex) const {
  const Avma gil = gil_of(futex);
  uint64_t thread = 0, tid = 0;
  if (gil == 0 || layout_->native_thread_id == 0 || !read(gil + kLastHolder, thread) ||
      thread == 0 || !read(Avma::at(thread) + layout_->native_thread_id, tid)) {
    return std::nullopt;
  }
  return static_cast<pid_t>(tid);
}

// The interpreter is the program, or a library that is called after it.
void PythonRuntime::find() {
  const std::vector<MappedRange> map = read_memory_map(pid_);
  bool is_first = true;
  for (const MappedRange& range : map) {
    if (range.inode == 0 || range.offset != 0) continue;
    const std::string_view name = base_name(range.path);
    const bool is_candidate = is_first || name.find("python") != std::string_view::npos;
    is_first = false;
    if (!is_candidate || name.ends_with(".pyc")) continue;
    const ModuleFile file = open_module(pid_, range, map);
    const Symbols symbols = find_symbols(file.bytes);
    const auto layout = symbols.runtime != 0 ? read_elf_layout(file.bytes) : std::nullopt;
    if (!layout) continue;
    const uint64_t bias = range.start - layout->begin();
    uint64_t version = uint64_t{version_in_name(name)} << 16;
    if (symbols.version != 0) read(avma_of(symbols.version, bias), version);
    if (find_in(avma_of(symbols.runtime, bias), static_cast<uint32_t>(version >> 16))) return;
  }
}

bool PythonRuntime::find_in(Avma runtime, uint32_t version) {
  const auto* const layout = std::ranges::find(kLayouts, version, &PythonRuntimeLayout::version);
  if (layout == std::end(kLayouts)) return false;
  layout_ = layout;
  runtime_ = runtime;
  return true;
}

void PythonRuntime::read_gils() {
  gils_.clear();
  if (layout_->gil != 0) {
    gils_.push_back(runtime_ + layout_->gil);
    return;
  }
  uint64_t interpreter = 0, gil = 0;
  read(runtime_ + layout_->first_interpreter, interpreter);
  while (interpreter != 0 && gils_.size() < kMostInterpreters &&
         read(Avma::at(interpreter) + layout_->gil_pointer, gil)) {
    if (gil != 0) gils_.push_back(Avma::at(gil));
    if (!read(Avma::at(interpreter) + layout_->next_interpreter, interpreter)) return;
  }
}

bool PythonRuntime::read(Avma avma, uint64_t& value) const {
  return read_process(pid_, avma, &value, sizeof value) == sizeof value;
}

Avma PythonRuntime::gil_of(Avma futex) const {
  const auto found =
      std::ranges::find_if(gils_, [futex](Avma gil) { return futex - gil < kGilSize; });
  return found != gils_.end() ? *found : Avma();
}

}  // namespace sampan::sampler
