#include "symbolizer/machine_code.h"

#include <capstone/capstone.h>
#include <dlfcn.h>

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace sampan::symbolizer {
namespace {

constexpr uint64_t kLongestFunction = 1 << 20;  // bytes: a symbol's size may be anything

// The library, loaded when it is first needed: its tables are 77,000 pointers, which the loader
// would adjust whenever sampan is started, and that takes longer than all the rest of a start.
class Capstone {
 public:
  static const Capstone& loaded() {
    static const Capstone capstone;
    return capstone;
  }

  decltype(&cs_open) open;
  decltype(&cs_close) close;
  decltype(&cs_option) option;
  decltype(&cs_malloc) allocate;
  decltype(&cs_free) free;
  decltype(&cs_disasm_iter) next;

 private:
  Capstone() {
    const std::string name = "libcapstone.so." + std::to_string(CS_API_MAJOR);
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Error("instructions are read with {}: {}", name, dlerror());
    const auto find = [&](const char* function, auto& pointer) {
      pointer =
          reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(dlsym(library, function));
      if (pointer == nullptr) throw Error("{} has no {}", name, function);
    };
    find("cs_open", open);
    find("cs_close", close);
    find("cs_option", option);
    find("cs_malloc", allocate);
    find("cs_free", free);
    find("cs_disasm_iter", next);
  }
};

class Disassembler {
 public:
  Disassembler() : capstone_(Capstone::loaded()) {
    if (capstone_.open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) {
      throw Error("the disassembler cannot be used");
    }
    capstone_.option(handle_, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
    instruction_ = capstone_.allocate(handle_);
  }
  ~Disassembler() {
    capstone_.free(instruction_, 1);
    capstone_.close(&handle_);
  }
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  std::vector<Instruction> operator()(std::span<const uint8_t> bytes, uint64_t svma) {
    std::vector<Instruction> result;
    const uint8_t* code = bytes.data();
    size_t size = bytes.size();
    while (size > 0) {
      if (capstone_.next(handle_, &code, &size, &svma, instruction_)) {
        std::string text = instruction_->mnemonic;
        if (instruction_->op_str[0] != '\0') text += std::string(" ") + instruction_->op_str;
        result.push_back({instruction_->address, instruction_->size, std::move(text)});
        continue;
      }
      result.push_back({svma, 1, "(bad)"});
      ++code, ++svma, --size;
    }
    return result;
  }

 private:
  const Capstone& capstone_;
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

}  // namespace

MachineCode::MachineCode(const profile::Module& module,
                         const std::vector<std::string>& debug_directories)
    : files_(find_files(module, module.path, debug_directories)) {
  if (!files_.main) throw Error("{}: {}", module.path, files_.problem);
  const bool is_all = files_.debug && symbols_.add(*files_.debug);
  if (!is_all) symbols_.add(*files_.main);
  symbols_.sort();
  starts_.emplace(*files_.main);
}

std::vector<Instruction> MachineCode::function_at(uint64_t svma) const {
  const ElfSymbols::Found symbol = symbols_.find(svma);
  uint64_t begin = symbol.begin, end = symbol.end;
  if (symbol.name == nullptr || !symbol.has_size) {
    const auto range = starts_->range(svma);
    if (!range && symbol.name == nullptr) return {};
    if (range) begin = range->begin, end = range->end;
  }
  end = std::min(end, begin + kLongestFunction);
  const std::span<const uint8_t> code = files_.main->bytes_at(begin);
  return Disassembler()(code.first(std::min<uint64_t>(code.size(), end - begin)), begin);
}

}  // namespace sampan::symbolizer
