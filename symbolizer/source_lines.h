// What debug information and symbol tables say about one address, before it enters the profile.
//
// Names owns the strings and functions of one job, so that jobs run in parallel without a lock;
// the pointers in a SourceLine are into the Names of the job that found it.
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
  std::string name;                   // demangled, unless Names was asked not to
  const std::string* file = nullptr;  // of its definition
  uint32_t line = 0;                  // 0 unknown
  bool is_local = false;  // to its file: no source but the symbol table has a linkage name
  bool is_place = false;  // no source knows the name: it is "[module+0x1234]"
};

struct SourceLine {
  const SourceFunction* function = nullptr;  // null: this source does not know
  const std::string* file = nullptr;         // null: unknown
  uint32_t line = 0;                         // 0 unknown
  uint32_t column = 0;                       // 0 unknown
};

// Of one address, innermost inlined function first. Empty: nothing known.
using SourceLines = std::vector<SourceLine>;

// What is found out about some addresses. Threads may write to different ones at the same time.
class LinesByAddress {
 public:
  LinesByAddress() = default;
  // Ascending, each once.
  explicit LinesByAddress(std::vector<uint64_t> svmas)
      : svmas_(std::move(svmas)), lines_(svmas_.size()) {}
  const std::vector<uint64_t>& svmas() const { return svmas_; }
  // Null for an address that is none of them.
  SourceLines* find(uint64_t svma);
  const SourceLines* find(uint64_t svma) const;

 private:
  std::vector<uint64_t> svmas_;
  std::vector<SourceLines> lines_;
};

class Names {
 public:
  // `linkage_names`: functions are called what the linker calls them.
  explicit Names(bool linkage_names = false) : linkage_names_(linkage_names) {}
  bool linkage_names() const { return linkage_names_; }
  const SourceFunction* add(SourceFunction function);
  // A file by its path; null when that is "". "./csu/../elf/rtld.c" becomes "./elf/rtld.c", so that
  // a header has one name however it was included.
  const std::string* file(const std::string& path);
  // See demangle.h; remembered, because one inlined function is in many units. `mangled` is text
  // of a file that outlives this object: the same text is at the same place there.
  const std::string& demangled(const char* mangled);
  // The same, of text that will not stay.
  std::string called(const std::string& mangled) const;

 private:
  bool linkage_names_;
  std::deque<SourceFunction> functions_;
  std::unordered_map<const char*, std::string> demangled_;
  std::unordered_set<std::string> files_;  // node-based: they stay where they are
};

}  // namespace sampan::symbolizer
