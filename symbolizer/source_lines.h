// What debug information and symbol tables say about addresses, before it enters the profile.
//
// Names owns the strings and functions of one job, so jobs run in parallel without a lock. The
// pointers in a SourceLine point into the Names of the job that found it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sampan::symbolizer {

struct SourceFunction {
  std::string name;                   // demangled, unless Names keeps linkage names
  const std::string* file = nullptr;  // of its definition
  uint32_t line = 0;                  // 0 unknown
  bool is_local = false;              // to its file: only the symbol table has its linkage name
  bool lacks_scope = false;           // likewise: compiled with -g1, which writes no namespaces
  bool is_place = false;              // no source has a name: it is "[module+0x1234]"
};

struct SourceLine {
  const SourceFunction* function = nullptr;  // null: unknown to this source
  const std::string* file = nullptr;         // null: unknown
  uint32_t line = 0;                         // 0 unknown
  uint32_t column = 0;                       // 0 unknown
};

// The lines of one address, innermost inlined function first. Empty: nothing is known.
using SourceLines = std::vector<SourceLine>;

// Results for a set of addresses. Threads may write to different addresses at the same time.
class LinesByAddress {
 public:
  LinesByAddress() = default;
  // `svmas`: ascending, without duplicates.
  explicit LinesByAddress(std::vector<uint64_t> svmas)
      : svmas_(std::move(svmas)), lines_(svmas_.size()) {}
  const std::vector<uint64_t>& svmas() const { return svmas_; }
  // Null if the address is not in the set.
  SourceLines* find(uint64_t svma);
  const SourceLines* find(uint64_t svma) const;

 private:
  std::vector<uint64_t> svmas_;
  std::vector<SourceLines> lines_;
};

class Names {
 public:
  // `linkage_names`: functions keep the linker's names.
  explicit Names(bool linkage_names = false) : linkage_names_(linkage_names) {}
  bool linkage_names() const { return linkage_names_; }
  const SourceFunction* add(SourceFunction function);
  // A file by its path; null for "". "./csu/../elf/rtld.c" becomes "./elf/rtld.c", so that a header
  // has one name however it was included.
  const std::string* file(const std::string& path);
  // See demangle.h. Remembers results, because one inlined function is in many units. `mangled` is
  // text in a file that outlives this object, so equal pointers mean equal text.
  const std::string& demangled(const char* mangled);
  // The same for temporary text; not remembered.
  std::string demangled_copy(const std::string& mangled) const;

 private:
  bool linkage_names_;
  std::deque<SourceFunction> functions_;
  std::unordered_map<const char*, std::string> demangled_;
  std::unordered_set<std::string> files_;  // node-based: elements do not move
};

}  // namespace sampan::symbolizer
