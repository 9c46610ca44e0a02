// Functions that a process has made at run time, as it describes them to debuggers: GDB's JIT
// interface ("Debugging with GDB", JIT Compilation Interface). LLVM has it, and so have Julia,
// PostgreSQL and others that are built on it; LuaJIT, HHVM and Wasmtime have it, too.
//
//   __jit_debug_descriptor ──▶ entry ──▶ entry ──▶ …    each with an ELF file in the process's memory
//
// The process is not stopped. What is read of it may change meanwhile, and may be hostile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "sampler/process/symbol_table.h"

namespace sampan::sampler {

// The functions of one such file.
class RegisteredCode {
 public:
  struct Function {
    Avma begin, end;
    std::string name;  // of the symbol
  };
  explicit RegisteredCode(const SymbolTable& symbols);

  // Null: none is there.
  const Function* find(Avma avma) const;
  const std::vector<Function>& functions() const { return functions_; }

 private:
  std::vector<Function> functions_;  // by begin
};

class GdbJit {
 public:
  explicit GdbJit(pid_t pid) : pid_(pid) {}

  // Looks for descriptors in the modules that it has not looked into yet.
  void find_descriptors();
  bool has_descriptors() const { return !descriptors_.empty(); }

  struct Look {
    // All registered code, the latest first. Code of the look before is the same object again.
    std::vector<std::shared_ptr<const RegisteredCode>> code;
    bool is_complete = true;  // else there may be more
    MonotonicNs time_ns = 0;
  };
  // Nothing if it is too early for another look: all take a hundredth of a CPU at most.
  std::optional<Look> look(MonotonicNs now_ns);

 private:
  struct Descriptor;
  struct Entry;
  struct Known {
    uint64_t hash = 0;  // of the symbols
    size_t size = 0;
    uint64_t look = 0;  // in which it was seen last
    std::shared_ptr<const RegisteredCode> code;
  };

  bool walk(Avma descriptor, CpuNs until_cpu_ns, Look& look);
  std::shared_ptr<const RegisteredCode> code_of(uint64_t at, const Entry& entry);
  void forget_unseen(bool is_complete);

  pid_t pid_;
  std::vector<Avma> descriptors_;
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> examined_;  // device, inode, start
  std::unordered_map<uint64_t, Known> known_;                    // by the address of the entry
  size_t known_size_ = 0;                                        // bytes of their symbols
  uint64_t looks_ = 0;
  MonotonicNs next_ns_ = 0;  // of a look
};

}  // namespace sampan::sampler
