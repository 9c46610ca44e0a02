#include <capstone/capstone.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/late_library.h"
#include "profile/frames.h"
#include "symbolizer/elf_functions.h"
#include "symbolizer/function_code.h"
#include "symbolizer/module_files.h"
#include "symbolizer/module_place.h"
#include "symbolizer/symbolizer.h"

namespace sampan::symbolizer {
namespace {

using profile::CodeRow;
using profile::kNone;
using profile::Profile;

struct Instruction {
  uint64_t svma = 0;
  unsigned size = 0;  // bytes
  std::string text;   // "movq %rax, (%rdi)"; "(bad)" if it is invalid
};

constexpr uint64_t kLongestFunction = 1 << 20;  // bytes: a symbol's size may be wrong

// The library, loaded when it is first needed: the loader would relocate its 77,000 pointers at
// each start of sampan, which takes longer than the rest of the start.
struct Capstone {
  const std::string version = std::to_string(CS_API_MAJOR);
  const std::string soname = "libcapstone.so." + version, package = "libcapstone" + version;
  LateLibrary library{soname.c_str(), package.c_str(), "capstone"};
  decltype(cs_open)* open = library["cs_open"];
  decltype(cs_close)* close = library["cs_close"];
  decltype(cs_option)* option = library["cs_option"];
  decltype(cs_malloc)* allocate = library["cs_malloc"];
  decltype(cs_free)* free = library["cs_free"];
  decltype(cs_disasm_iter)* next = library["cs_disasm_iter"];
};

// Throws Error if it cannot be loaded.
const Capstone& capstone() {
  static const Capstone library;
  return library;
}

class Disassembler {
 public:
  // `machine`: an EM_… of ELF.
  explicit Disassembler(uint16_t machine)
      : capstone_(capstone()), least_size_(machine == EM_AARCH64 ? 4 : 1) {
    const bool is_aarch64 = machine == EM_AARCH64;
    if ((!is_aarch64 && machine != EM_X86_64) ||
        capstone_.open(is_aarch64 ? CS_ARCH_ARM64 : CS_ARCH_X86,
                       is_aarch64 ? CS_MODE_ARM : CS_MODE_64, &handle_) != CS_ERR_OK) {
      throw Error("the disassembler cannot be used for this processor's code");
    }
    if (!is_aarch64) capstone_.option(handle_, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
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
      const unsigned skipped = std::min<unsigned>(least_size_, static_cast<unsigned>(size));
      result.push_back({svma, skipped, "(bad)"});
      code += skipped, svma += skipped, size -= skipped;
    }
    return result;
  }

 private:
  const Capstone& capstone_;
  const unsigned least_size_;  // of an instruction, in bytes
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

// The machine code of a module's functions as instructions in AT&T syntax, which gdb and objdump
// use.
class MachineCode {
 public:
  // Throws Error with the reason if the file that ran cannot be opened.
  MachineCode(const profile::Module& module, const Options& options);

  // The whole function around an address: its extent is that of its symbol, else of its unwind
  // information. Empty if neither covers the address.
  std::vector<Instruction> function_at(uint64_t svma) const;

 private:
  ModuleFiles files_;
  ElfSymbols symbols_;
  std::optional<FunctionStarts> starts_;
};

MachineCode::MachineCode(const profile::Module& module, const Options& options)
    : files_(find_files(module, place_of(module, options), debug_directories(options))) {
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
  Disassembler disassemble(files_.main->machine());
  return disassemble(code.first(std::min<uint64_t>(code.size(), end - begin)), begin);
}

class CodeFinder {
 public:
  CodeFinder(const Profile& profile, std::vector<std::string>* notes, const std::string& sysroot)
      : profile_(profile), notes_(notes) {
    options_.sysroot = sysroot;
  }

  std::vector<CodeRow> rows_of(const profile::Annotation& annotation) {
    std::vector<CodeRow> rows;
    for (const profile::AnnotatedAddress& address : annotation.addresses) {
      if (address.module == kNone) {
        note("code that was made at run time is gone: it has no instructions");
        continue;
      }
      if (!is_known(address)) add_function(address, &rows);
      if (!is_known(address)) continue;
      // The instruction around the address: the lookup address of a call is its last byte.
      const auto after = std::upper_bound(
          rows.begin(), rows.end(), address, [](const auto& wanted, const CodeRow& row) {
            return std::pair(wanted.module, wanted.address) < std::pair(row.module, row.address);
          });
      CodeRow& row = *std::prev(after);
      row.self += address.self;
      row.total += address.total;
    }
    add_lines(annotation.function.function, &rows);
    return rows;
  }

 private:
  bool is_known(const profile::AnnotatedAddress& address) const {
    const auto after = known_.upper_bound({address.module, address.address});
    if (after == known_.begin()) return false;
    const auto& [begin, end] = *std::prev(after);
    return begin.first == address.module && address.address < end;
  }

  void add_function(const profile::AnnotatedAddress& address, std::vector<CodeRow>* rows) {
    const profile::Module& module = profile_.modules[address.module];
    try {
      auto [code, is_new] = modules_.try_emplace(address.module, nullptr);
      if (is_new) {
        code->second = std::make_unique<MachineCode>(module, options_);
      }
      if (code->second == nullptr) return;  // its note is there
      const auto instructions = code->second->function_at(address.address);
      if (instructions.empty()) {
        note(fmt::format("{}: nothing says where the function at 0x{:x} begins", module.path,
                         address.address));
        return;
      }
      const Instruction& last = instructions.back();
      known_[{address.module, instructions.front().svma}] = last.svma + last.size;
      for (const Instruction& instruction : instructions) {
        rows->push_back(
            {.module = address.module, .address = instruction.svma, .text = instruction.text});
      }
    } catch (const Error& error) {
      note(fmt::format("no instructions: {}", error.what()));
    }
  }

  // The line of the function that each instruction was compiled from.
  void add_lines(uint32_t function, std::vector<CodeRow>* rows) {
    Profile places;
    places.modules = profile_.modules;
    for (const CodeRow& row : *rows) {
      places.locations.push_back({.module = row.module, .address = row.address});
    }
    symbolize(places, options_);
    const std::string_view name = function_name(profile_, function);
    for (uint32_t i = 0; i < rows->size(); ++i) {
      for_each_frame(places, i, [&](const profile::Frame& frame) {
        if (function_name(places, frame.function) != name) return;
        (*rows)[i].line = frame.line;
        (*rows)[i].file = file_handle(places.strings[frame.file]);
      });
    }
  }

  // Its string in the profile; 0 where the profile does not have it.
  uint32_t file_handle(const std::string& path) {
    const auto [place, is_new] = files_.try_emplace(path, 0);
    for (uint32_t i = 0; is_new && i < profile_.strings.size(); ++i) {
      if (profile_.strings[i] == path) place->second = i;
    }
    return place->second;
  }

  void note(const std::string& text) {
    if (std::find(notes_->begin(), notes_->end(), text) == notes_->end()) notes_->push_back(text);
  }

  const Profile& profile_;
  std::vector<std::string>* notes_;
  Options options_;
  std::map<uint32_t, std::unique_ptr<MachineCode>> modules_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> known_;  // begin to end of functions
  std::map<std::string, uint32_t> files_;
};

}  // namespace

std::vector<CodeRow> find_instructions(const Profile& profile,
                                       const profile::Annotation& annotation,
                                       std::vector<std::string>* notes,
                                       const std::string& sysroot) {
  return CodeFinder(profile, notes, sysroot).rows_of(annotation);
}

}  // namespace sampan::symbolizer
