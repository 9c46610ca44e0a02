#include "symbolizer/machine_code.h"

#include <capstone/capstone.h>
#include <gelf.h>

#include <algorithm>
#include <span>

#include "base/error.h"

namespace sampan::symbolizer {
namespace {

constexpr uint64_t kLongestFunction = 1 << 20;  // bytes: a symbol's size may be anything

// As much of the code from `begin` on as the file has.
std::span<const uint8_t> bytes_at(Elf* elf, uint64_t begin, uint64_t size) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return {};
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) return {};
    const uint64_t into = begin - header.p_vaddr;
    if (header.p_type != PT_LOAD || into >= header.p_filesz) continue;
    const Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<int64_t>(header.p_offset + into),
                                                std::min(size, header.p_filesz - into), ELF_T_BYTE);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const uint8_t*>(data->d_buf), data->d_size};
  }
  return {};
}

class Disassembler {
 public:
  Disassembler() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) {
      throw Error("the disassembler cannot be used");
    }
    cs_option(handle_, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
    instruction_ = cs_malloc(handle_);
  }
  ~Disassembler() {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  std::vector<Instruction> operator()(std::span<const uint8_t> bytes, uint64_t svma) {
    std::vector<Instruction> result;
    const uint8_t* code = bytes.data();
    size_t size = bytes.size();
    while (size > 0) {
      if (cs_disasm_iter(handle_, &code, &size, &svma, instruction_)) {
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
  return Disassembler()(bytes_at(files_.main->handle(), begin, end - begin), begin);
}

}  // namespace sampan::symbolizer
