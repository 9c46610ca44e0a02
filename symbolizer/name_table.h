// Names of one module's addresses as a file: columns that are searched as they were read, so that
// to know a name costs little more than to copy it.
//
// A header, then the columns, of numbers of 32 bits: addresses, ascending; the stack of each; where
// each stack's lines end; lines; functions; where each text ends; the texts. Addresses on the same
// lines of the same functions share a stack.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::symbolizer {

// Which module it is of: its build-id, and whether the names are those of the linker.
struct NameTableKey {
  static constexpr size_t kMaxId = 64;
  NameTableKey() = default;
  NameTableKey(std::span<const uint8_t> build_id, bool linkage_names);
  std::array<uint8_t, kMaxId> id{};
  uint32_t id_size = 0;  // 0: of no module
  uint32_t linkage_names = 0;
  friend bool operator==(const NameTableKey&, const NameTableKey&) = default;
};

struct NameTableHeader {
  static constexpr std::array<char, 16> kMagic = {'s', 'a', 'm', 'p', 'a', 'n', ' ', 'n',
                                                  'a', 'm', 'e', 's', ' ', '2', '\n'};
  std::array<char, 16> magic = kMagic;  // the version is that of what is below it
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
    uint32_t name, file, line;  // texts; `name` is 0 where nothing is known
  };

  NameTable() = default;  // of nothing
  // None where there is no such file, or it is damaged, or of another module or version. What was
  // read refers to nothing that is not there.
  static std::optional<NameTable> read(const std::string& path, uint64_t max_bytes,
                                       const NameTableKey& key);
  // The same of a file's bytes.
  static std::optional<NameTable> of(const std::string& bytes, const NameTableKey& key);

  std::span<const uint32_t> svmas() const { return svmas_; }
  // The row of an address; none when it is not known.
  std::optional<size_t> find(uint64_t svma) const;
  // Of the address in a row, innermost function first.
  std::span<const Line> lines(size_t row) const { return stack(stacks_[row]); }

  // The columns that are not of addresses.
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
  bool makes_sense() const;
  void divide();

  std::shared_ptr<const void> memory_;  // that the columns are in
  std::span<const uint32_t> svmas_, stacks_, line_ends_;
  std::span<const Line> lines_;
  std::span<const Function> functions_;
  std::span<const uint32_t> text_ends_;
  std::string_view chars_;

  // The range of addresses in parts of one size: the first row of each, and the end.
  std::vector<uint32_t> parts_;
  unsigned part_bits_ = 0;
};

}  // namespace sampan::symbolizer
