#include "sampler/process/python_interpreter.h"

#include <charconv>
#include <string_view>
#include <vector>

#include "sampler/process/captured_memory.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/module_file.h"
#include "sampler/process/module_image.h"
#include "sampler/process/symbol_table.h"
#include "unwind/python_layout_check.h"

namespace sampan::sampler {
namespace {

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

struct Place {
  Svma svma = 0;
  uint64_t size = 0;
};

struct Symbols {
  Place runtime, version, code_type, eval_loop, thread_of_gil;
};

Symbols find_symbols(const ModuleBytes& bytes) {
  Symbols found;
  const struct {
    std::string_view name;
    Place& place;
  } wanted[] = {{"_PyRuntime", found.runtime},
                {"Py_Version", found.version},
                {"PyCode_Type", found.code_type},
                {"_PyEval_EvalFrameDefault", found.eval_loop},
                {"PyGILState_GetThisThreadState", found.thread_of_gil}};
  SymbolTable(bytes, SHT_DYNSYM).for_each([&](const Symbol& symbol) {
    for (const auto& each : wanted) {
      if (symbol.name == each.name) each.place = {symbol.svma, symbol.size};
    }
  });
  return found;
}

// The program may be an interpreter, or have one linked in. Extension modules are none.
bool is_candidate(const MappedRange& range, bool is_program) {
  const std::string_view name = base_name(range.path);
  return is_program || name.starts_with("python") || name.starts_with("libpython");
}

// The interpreter of a module with these symbols.
PythonInterpreter examine(pid_t pid, const Symbols& symbols, uint64_t bias,
                          std::string_view module) {
  PythonInterpreter result;
  CapturedMemory memory;
  memory.start_capture(pid);
  uint64_t version = uint64_t{version_in_name(module)} << 16;
  if (symbols.version.svma != 0) memory.read(avma_of(symbols.version.svma, bias), version);
  const unwind::PythonLayout* const layout =
      unwind::python_layout(static_cast<uint32_t>(version >> 16));
  if (layout == nullptr || symbols.runtime.svma == 0 || symbols.code_type.svma == 0) return result;
  result.runtime = avma_of(symbols.runtime.svma, bias);
  const unwind::PythonLayoutCheck check(memory, *layout, avma_of(symbols.code_type.svma, bias),
                                        result.runtime);
  const bool has_marks =
      layout->groups != unwind::PythonGroups::kFrameObjects || layout->thread_cframe != 0;
  if (symbols.eval_loop.svma != 0) {
    const Avma start = avma_of(symbols.eval_loop.svma, bias);
    result.eval_loop = {start, start + symbols.eval_loop.size};
  }
  result.layout = *layout;
  result.is_known = (symbols.eval_loop.svma != 0 || has_marks) && check.holds() &&
                    check.runtime_layout(result.runtime_layout);
  return result;
}

}  // namespace

std::optional<PythonInterpreter> find_python(pid_t pid) {
  const std::vector<MappedRange> map = read_memory_map(pid);
  std::optional<PythonInterpreter> found;
  bool is_program = true;
  for (const MappedRange& range : map) {
    if (range.inode == 0 || range.offset != 0) continue;
    const bool is_wanted = is_candidate(range, is_program);
    is_program = false;
    if (!is_wanted) continue;
    const ModuleFile file = open_module(pid, range, map);
    const Symbols symbols = find_symbols(file.bytes);
    const bool is_interpreter = symbols.runtime.svma != 0 || symbols.thread_of_gil.svma != 0;
    const auto layout = is_interpreter ? read_elf_layout(file.bytes) : std::nullopt;
    if (!layout) continue;
    found = examine(pid, symbols, range.start - layout->begin(), base_name(range.path));
    if (found->is_known) break;
  }
  return found;
}

}  // namespace sampan::sampler
