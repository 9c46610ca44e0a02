#include "symbolizer/go_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_cursor.h"

namespace sampan::symbolizer {
namespace {

constexpr size_t kWord = 8;
// Steps in a table of values: each stands for one or more instructions of a function.
constexpr size_t kMaxSteps = size_t{1} << 20;
constexpr uint32_t kNothing = UINT32_MAX;

std::span<const uint8_t> from(std::span<const uint8_t> bytes, uint64_t offset) {
  return bytes.subspan(std::min<uint64_t>(offset, bytes.size()));
}

// 0 when `offset` is out of range.
uint32_t word32(std::span<const uint8_t> bytes, uint64_t offset) {
  return ByteCursor(from(bytes, offset)).u32();
}
uint64_t word64(std::span<const uint8_t> bytes, uint64_t offset) {
  return ByteCursor(from(bytes, offset)).u64();
}

std::string_view text_at(std::span<const uint8_t> bytes, uint64_t offset) {
  const auto rest = from(bytes, offset);
  const auto end = std::ranges::find(rest, 0);
  if (end == rest.end()) return {};
  return {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.begin())};
}

constexpr size_t kMaxDepth = 256;  // of inlining: a damaged table may contain a cycle

}  // namespace

std::optional<GoTable> GoTable::of(const ElfFile& file) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const ElfFile::Section table = file.section(name);
    if (table.bytes.size() < 2 * kWord) continue;
    Layout layout{};
    switch (word32(table.bytes, 0)) {
      case 0xfffffffb: layout = Layout::kGo12; break;
      case 0xfffffffa: layout = Layout::kGo116; break;
      case 0xfffffff0: layout = Layout::kGo118; break;
      case 0xfffffff1: layout = Layout::kGo120; break;
      default: return std::nullopt;
    }
    GoTable result(file, table, layout);
    if (result.count_ != 0) return result;
  }
  return std::nullopt;
}

GoTable::GoTable(const ElfFile& file, const ElfFile::Section& table, Layout layout)
    : layout_(layout), table_(table.bytes) {
  if (!read_header(file)) {
    count_ = 0;
  } else if (layout_ >= Layout::kGo118) {
    find_function_data(file, table);
  }
}

// u32 magic, u16 0, u8 quantum, u8 pointer size in bytes, then words of that size.
bool GoTable::read_header(const ElfFile& file) {
  quantum_ = table_[6];
  if (table_[7] != kWord || (quantum_ != 1 && quantum_ != 2 && quantum_ != 4)) return false;
  ByteCursor words(table_.subspan(kWord));
  count_ = words.u64();
  size_t row_size = 2 * kWord;
  if (layout_ == Layout::kGo12) {
    rows_ = table_.subspan(2 * kWord);
    names_ = values_ = table_;
    if (count_ > rows_.size() / row_size) return false;
    files_ = from(table_, word32(rows_, count_ * row_size + kWord));
    units_ = files_;
  } else {
    words.skip(kWord);  // files
    if (layout_ >= Layout::kGo118) {
      text_ = words.u64();
      row_size = kWord;
      // In position-independent programs only a relocation has it.
      if (text_ == 0) text_ = file.section(".text").svma;
    }
    names_ = from(table_, words.u64());
    units_ = from(table_, words.u64());
    files_ = from(table_, words.u64());
    values_ = from(table_, words.u64());
    rows_ = from(table_, words.u64());
  }
  return words.ok() && count_ <= rows_.size() / row_size;
}

// Trees of inlined functions are addressed relative to a base that only runtime.moduledata has.
// That structure begins with the addresses of this table and its parts. In Go 1.27 the trees
// are in this table, and their base stands, at another place, before the address of the table's end.
void GoTable::find_function_data(const ElfFile& file, const ElfFile::Section& table) {
  const uint64_t names_svma = table.svma + static_cast<uint64_t>(names_.data() - table_.data());
  const size_t place = layout_ == Layout::kGo118 ? 38 : 40;
  constexpr size_t kLaterPlaces = 8;
  for (const char* name : {".noptrdata", ".data", ".data.rel.ro", ".go.module"}) {
    const Bytes bytes = file.section(name).bytes;
    for (size_t i = 0; i + (place + 1) * kWord <= bytes.size(); i += kWord) {
      const auto word = [&](size_t at) { return word64(bytes, i + at * kWord); };
      if (word(0) != table.svma || word(1) != names_svma) continue;
      size_t later = 0;
      while (later < kLaterPlaces && word(place + later + 1) != table.svma + table.bytes.size()) {
        ++later;
      }
      function_data_ = file.bytes_at(word(later < kLaterPlaces ? place + later : place));
      return;
    }
  }
}

// Row `count_` is the end of the last function.
uint64_t GoTable::row_begin(size_t row) const {
  if (layout_ >= Layout::kGo118) return text_ + word32(rows_, row * kWord);
  return word64(rows_, row * 2 * kWord);
}

std::optional<GoTable::Function> GoTable::function_at(uint64_t svma) const {
  size_t low = 0, high = count_;  // the last row that begins at the address or before
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (row_begin(middle) <= svma) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0 || svma >= row_begin(low)) return std::nullopt;
  const size_t row = low - 1;
  Function function;
  function.entry = row_begin(row);
  const bool is_short = layout_ >= Layout::kGo118;
  const uint64_t offset =
      is_short ? word32(rows_, row * kWord + 4) : word64(rows_, row * 2 * kWord + kWord);
  const Bytes all = layout_ == Layout::kGo12 ? table_ : rows_;
  ByteCursor facts(from(all, offset));
  facts.skip(is_short ? 4 : kWord);  // its begin, again
  function.name = text_at(names_, facts.u32());
  facts.skip(12);  // arguments, where its deferred calls return to, stack frames
  function.pcfile = facts.u32();
  function.pcline = facts.u32();
  const uint32_t values = facts.u32();
  if (layout_ != Layout::kGo12) function.unit = facts.u32();
  if (layout_ == Layout::kGo120) function.line = facts.u32();
  facts.skip(3);
  const uint8_t data = facts.u8();
  function.inlined_tree = kNoTree;
  constexpr uint32_t kIndex = 2, kTree = 3;  // PCDATA_InlTreeIndex, FUNCDATA_InlTree
  if (is_short && values > kIndex && data > kTree && !function_data_.empty()) {
    const Bytes rest = from(all, offset + facts.offset());
    function.inlined_index = word32(rest, kIndex * 4);
    function.inlined_tree = word32(rest, (uint64_t{values} + kTree) * 4);
  }
  if (!facts.ok() || function.name.empty()) return std::nullopt;
  if (function.line == 0)
    function.line = value_at(function.pcline, function.entry, function.entry).value_or(0);
  return function;
}

// Pairs of deltas: of the value, and of the pc up to which it holds.
std::optional<uint32_t> GoTable::value_at(uint32_t values, uint64_t entry, uint64_t svma) const {
  if (values == 0) return std::nullopt;
  ByteCursor steps(from(values_, values));
  uint32_t value = UINT32_MAX;
  uint64_t end = entry;
  for (size_t step = 0; step < kMaxSteps; ++step) {
    const auto zigzag = static_cast<uint32_t>(steps.uleb());
    if ((zigzag == 0 && step != 0) || !steps.ok()) break;
    value += zigzag >> 1 ^ -(zigzag & 1);
    end += steps.uleb() * quantum_;
    if (!steps.ok()) break;
    if (svma < end) return value;
  }
  return std::nullopt;
}

GoTable::Place GoTable::place(const Function& function, uint64_t svma) const {
  Place place;
  place.line = value_at(function.pcline, function.entry, svma).value_or(0);
  const std::optional<uint32_t> file = value_at(function.pcfile, function.entry, svma);
  if (!file) return place;
  const uint32_t offset = word32(units_, (uint64_t{function.unit} + *file) * 4);
  if (offset != kNothing) {
    place.file = text_at(layout_ == Layout::kGo12 ? table_ : files_, offset);
  }
  return place;
}

std::optional<GoTable::Inlined> GoTable::inlined_at(const Function& function, uint64_t svma) const {
  if (function.inlined_tree == kNoTree) return std::nullopt;
  const std::optional<uint32_t> index = value_at(function.inlined_index, function.entry, svma);
  if (!index || *index > INT32_MAX) return std::nullopt;
  const bool is_newer = layout_ == Layout::kGo120;
  const size_t size = is_newer ? 16 : 20;
  const uint64_t row = function.inlined_tree + uint64_t{*index} * size;
  if (row + size > function_data_.size()) return std::nullopt;
  // Go 1.20: u8 kind, 3 bytes, name, pc of the call, first line. Go 1.18: parent, kind, file, line,
  // name, pc of the call.
  Inlined result;
  result.name = text_at(names_, word32(function_data_, row + (is_newer ? 4 : 12)));
  result.caller = function.entry + word32(function_data_, row + (is_newer ? 8 : 16));
  if (is_newer) result.line = word32(function_data_, row + 12);
  if (result.name.empty()) return std::nullopt;
  return result;
}

SourceLines GoLines::at(uint64_t svma, Names& names) {
  const auto compiled = table_.function_at(svma);
  // There is padding between the end of a function and the next one.
  if (!compiled || table_.place(*compiled, svma).file.empty()) return {};
  SourceLines lines;
  uint64_t pc = svma;
  const auto append = [&](std::string_view name, std::string_view file, uint32_t line) {
    const GoTable::Place place = table_.place(*compiled, pc);
    const SourceFunction* source = function(name, file, line, names);
    lines.push_back({source, names.file(std::string(place.file)), place.line});
  };
  while (lines.size() < kMaxDepth) {
    const auto inlined = table_.inlined_at(*compiled, pc);
    if (!inlined) break;
    append(inlined->name, table_.place(*compiled, pc).file, inlined->line);
    pc = inlined->caller;
  }
  append(compiled->name, table_.place(*compiled, compiled->entry).file, compiled->line);
  return lines;
}

const SourceFunction* GoLines::function(std::string_view name, std::string_view file, uint32_t line,
                                        Names& names) {
  const SourceFunction*& known = functions_[name];
  if (known == nullptr) {
    SourceFunction source;
    source.name = name;
    source.file = names.file(std::string(file));
    source.line = line;
    known = names.add(std::move(source));
  }
  return known;
}

}  // namespace sampan::symbolizer
