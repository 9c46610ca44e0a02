// Names of one module's addresses as a file: columns that are searched in place, so that a lookup
// costs little more than copying the name.
//
// A header, then columns of 32-bit numbers: addresses, ascending; the stack of each; the end of
// each stack's lines; lines; functions; the end of each text; the texts. Addresses on the same
// lines of the same functions share a stack.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

// The module: its build-id, and whether the names are the linker's.
struct NameTableKey {
  static constexpr size_t kMaxId = 64;
  NameTableKey() = default;
  NameTableKey(std::span<const uint8_t> build_id, bool linkage_names);
  std::array<uint8_t, kMaxId> id{};
  uint32_t id_size = 0;  // 0: no module
  uint32_t linkage_names = 0;
  friend bool operator==(const NameTableKey&, const NameTableKey&) = default;
};

struct NameTableHeader {
  // With the version: of the layout, and of how names are chosen.
  static constexpr std::array<char, 16> kMagic = {'s', 'a', 'm', 'p', 'a', 'n', ' ', 'n',
                                                  'a', 'm', 'e', 's', ' ', '3', '\n'};
  std::array<char, 16> magic = kMagic;
  NameTableKey key;
  uint32_t checksum = 0;  // CRC-32 of all columns
  uint32_t addresses = 0, stacks = 0, lines = 0, functions = 0, texts = 0, text_bytes = 0;

  uint64_t column_bytes() const;
};

class NameTable {
 public:
  struct Line {
    uint32_t function, file, line;  // `file` is a text; 0 unknown
  };
  struct Function {
    uint32_t name, file, line;  // indexes of texts; `name` is 0 if nothing is known
  };

  NameTable() = default;  // empty
  // None if there is no such file, or it is damaged, or of another module or version. All indexes
  // in the result are valid.
  static std::optional<NameTable> read(const std::string& path, uint64_t max_bytes,
                                       const NameTableKey& key);
  // The same for a file's bytes.
  static std::optional<NameTable> of(const std::string& bytes, const NameTableKey& key);

  std::span<const uint32_t> svmas() const { return svmas_; }
  // The row of an address; none if it is unknown.
  std::optional<size_t> find(uint64_t svma) const;
  // The lines of a row, innermost function first.
  std::span<const Line> lines(size_t row) const { return stack(stacks_[row]); }

  // The columns other than addresses.
  size_t stacks() const { return line_ends_.size(); }
  std::span<const Line> stack(size_t index) const {
    const uint32_t begin = index == 0 ? 0 : line_ends_[index - 1];
    return lines_.subspan(begin, line_ends_[index] - begin);
  }
  uint32_t stack_of(size_t row) const { return stacks_[row]; }
  std::span<const Function> functions() const { return functions_; }
  size_t texts() const { return text_ends_.size(); }
  std::string_view text(size_t index) const {  // 0 is ""
    const uint32_t begin = index == 0 ? 0 : text_ends_[index - 1];
    return chars_.substr(begin, text_ends_[index] - begin);
  }

 private:
  bool adopt(std::span<const uint8_t> bytes, const NameTableKey& key);
  bool is_valid() const;
  void make_buckets();

  std::shared_ptr<const void> memory_;  // holds the columns
  std::span<const uint32_t> svmas_, stacks_, line_ends_;
  std::span<const Line> lines_;
  std::span<const Function> functions_;
  std::span<const uint32_t> text_ends_;
  std::string_view chars_;

  // The address range in buckets of equal size: the first row of each, and the end.
  std::vector<uint32_t> buckets_;
  unsigned part_bits_ = 0;
};

// Makes a NameTable from an older one and what was found out since.
class NameTableWriter {
 public:
  explicit NameTableWriter(const NameTable& old);
  // Adds addresses (ascending) that the old table does not have. Those above 32 bits are left out:
  // code in files never is there.
  void add(std::span<const uint64_t> svmas, const LinesByAddress& lines);
  // The content of the file.
  std::string bytes(const NameTableKey& key) const;
  size_t added() const { return svmas_.size() - old_.svmas().size(); }

 private:
  struct Hash {
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    using is_transparent = void;
  };
  using Numbers = std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>;

  uint32_t stack(const SourceLines& lines);
  uint32_t stack(std::span<const NameTable::Line> lines);
  uint32_t function(const SourceFunction* source);
  uint32_t function(const NameTable::Function& row);
  uint32_t text(std::string_view text);
  uint32_t text(const std::string* known) { return known != nullptr ? text(*known) : 0; }

  const NameTable& old_;
  std::vector<uint32_t> svmas_, stacks_, line_ends_, text_ends_;
  std::vector<NameTable::Line> lines_;
  std::vector<NameTable::Function> functions_;
  std::string chars_;
  Numbers text_numbers_;
  Numbers function_numbers_, stack_numbers_;  // by their bytes
  std::unordered_map<const SourceFunction*, uint32_t> known_functions_;
};

}  // namespace sampan::symbolizer
