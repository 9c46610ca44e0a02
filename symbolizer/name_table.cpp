#include "symbolizer/name_table.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

namespace sampan::symbolizer {
namespace {

using Bytes = std::span<const uint8_t>;
using Numbers = std::span<const uint32_t>;

constexpr size_t kAddressesPerPart = 8;

// Maps a file, which is replaced as a whole and never changed. Null when it cannot be read: it is
// only a cache.
std::shared_ptr<const void> mapped(const std::string& path, uint64_t max_bytes, size_t* size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
      static_cast<uint64_t>(status.st_size) <= max_bytes) {
    *size = static_cast<size_t>(status.st_size);
    memory = ::mmap(nullptr, *size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  }
  ::close(fd);
  if (memory == MAP_FAILED) return nullptr;
  return {memory, [length = *size](void* begin) { ::munmap(begin, length); }};
}

// Takes a column off the front.
template <typename Row>
std::span<const Row> take(Bytes& rest, size_t rows) {
  const std::span<const Row> column(reinterpret_cast<const Row*>(rest.data()), rows);
  rest = rest.subspan(column.size_bytes());
  return column;
}

bool all_below(Numbers column, size_t limit) {
  uint32_t largest = 0;
  for (const uint32_t value : column) largest = std::max(largest, value);
  return column.empty() || largest < limit;
}

bool are_ends(Numbers ends, size_t size) {
  return std::ranges::is_sorted(ends) && (ends.empty() ? 0 : ends.back()) == size;
}

template <typename Row>
void append(const std::vector<Row>& column, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(Row));
}

}  // namespace

NameTableKey::NameTableKey(Bytes build_id, bool linkage) : linkage_names(linkage ? 1 : 0) {
  if (build_id.size() > kMaxId) return;
  std::ranges::copy(build_id, id.begin());
  id_size = static_cast<uint32_t>(build_id.size());
}

uint64_t NameTableHeader::column_bytes() const {
  const uint64_t numbers = uint64_t{2} * addresses + stacks + texts;
  return numbers * sizeof(uint32_t) + uint64_t{lines} * sizeof(NameTable::Line) +
         uint64_t{functions} * sizeof(NameTable::Function) + text_bytes;
}

std::optional<NameTable> NameTable::read(const std::string& path, uint64_t max_bytes,
                                         const NameTableKey& key) {
  NameTable table;
  size_t size = 0;
  table.memory_ = mapped(path, max_bytes, &size);
  const Bytes bytes(static_cast<const uint8_t*>(table.memory_.get()), size);
  return table.adopt(bytes, key) ? std::optional(std::move(table)) : std::nullopt;
}

std::optional<NameTable> NameTable::of(const std::string& bytes, const NameTableKey& key) {
  NameTable table;
  const auto copy = std::make_shared<const std::vector<uint8_t>>(bytes.begin(), bytes.end());
  table.memory_ = copy;
  return table.adopt(*copy, key) ? std::optional(std::move(table)) : std::nullopt;
}

bool NameTable::adopt(Bytes bytes, const NameTableKey& key) {
  NameTableHeader header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  Bytes rest = bytes.subspan(sizeof header);
  if (header.magic != NameTableHeader::kMagic || header.key != key ||
      header.column_bytes() != rest.size() ||
      header.checksum != libdeflate_crc32(0, rest.data(), rest.size())) {
    return false;
  }
  svmas_ = take<uint32_t>(rest, header.addresses);
  stacks_ = take<uint32_t>(rest, header.addresses);
  line_ends_ = take<uint32_t>(rest, header.stacks);
  lines_ = take<Line>(rest, header.lines);
  functions_ = take<Function>(rest, header.functions);
  text_ends_ = take<uint32_t>(rest, header.texts);
  chars_ = {reinterpret_cast<const char*>(rest.data()), rest.size()};
  if (!is_valid()) return false;
  make_buckets();
  return true;
}

// A correct checksum says that the file is as it was written, not who wrote it.
bool NameTable::is_valid() const {
  const size_t functions = functions_.size(), texts = text_ends_.size();
  return std::ranges::is_sorted(svmas_, std::ranges::less_equal()) &&
         all_below(stacks_, line_ends_.size()) && are_ends(line_ends_, lines_.size()) &&
         are_ends(text_ends_, chars_.size()) && texts != 0 && text_ends_[0] == 0 &&
         std::ranges::all_of(
             lines_,
             [=](const Line& line) { return line.function < functions && line.file < texts; }) &&
         std::ranges::all_of(functions_, [=](const Function& function) {
           return function.name < texts && function.file < texts;
         });
}

// A few addresses in each bucket, so that a lookup is immediate.
void NameTable::make_buckets() {
  if (svmas_.empty()) return;
  const uint64_t first = svmas_.front(), range = svmas_.back() - first;
  const auto bits_of = [](uint64_t value) { return static_cast<unsigned>(std::bit_width(value)); };
  part_bits_ =
      bits_of(range) - std::min(bits_of(range), bits_of(svmas_.size() / kAddressesPerPart));
  buckets_.resize((range >> part_bits_) + 2);
  for (const uint32_t svma : svmas_) ++buckets_[((svma - first) >> part_bits_) + 1];
  for (size_t i = 1; i < buckets_.size(); ++i) buckets_[i] += buckets_[i - 1];
}

std::optional<size_t> NameTable::find(uint64_t svma) const {
  if (svmas_.empty() || svma < svmas_.front() || svma > svmas_.back()) return std::nullopt;
  const size_t part = (svma - svmas_.front()) >> part_bits_;
  const auto begin = svmas_.begin();
  const auto end = begin + buckets_[part + 1];
  const auto found = std::lower_bound(begin + buckets_[part], end, svma);
  if (found == end || *found != svma) return std::nullopt;
  return static_cast<size_t>(found - begin);
}

NameTableWriter::NameTableWriter(const NameTable& old) : old_(old) {
  text("");
  for (size_t i = 0; i < old.texts(); ++i) text(old.text(i));
  for (const NameTable::Function& row : old.functions()) function(row);
  for (size_t i = 0; i < old.stacks(); ++i) stack(old.stack(i));
}

void NameTableWriter::add(std::span<const uint64_t> svmas, const LinesByAddress& lines) {
  size_t next = 0;
  const auto keep_old = [&](uint64_t until) {
    for (; next < old_.svmas().size() && old_.svmas()[next] < until; ++next) {
      svmas_.push_back(old_.svmas()[next]);
      stacks_.push_back(old_.stack_of(next));
    }
  };
  for (const uint64_t svma : svmas) {
    const SourceLines* found = lines.find(svma);
    if (found == nullptr || svma > UINT32_MAX) continue;
    keep_old(svma);
    svmas_.push_back(static_cast<uint32_t>(svma));
    stacks_.push_back(stack(*found));
  }
  keep_old(UINT64_MAX);
}

uint32_t NameTableWriter::stack(const SourceLines& source) {
  std::vector<NameTable::Line> lines;
  for (const SourceLine& line : source) {
    lines.push_back({function(line.function), text(line.file), line.line});
  }
  return stack(lines);
}

uint32_t NameTableWriter::stack(std::span<const NameTable::Line> lines) {
  const std::string_view bytes(reinterpret_cast<const char*>(lines.data()), lines.size_bytes());
  const auto next = static_cast<uint32_t>(line_ends_.size());
  const auto [known, is_new] = stack_numbers_.try_emplace(std::string(bytes), next);
  if (is_new) {
    lines_.insert(lines_.end(), lines.begin(), lines.end());
    line_ends_.push_back(static_cast<uint32_t>(lines_.size()));
  }
  return known->second;
}

uint32_t NameTableWriter::function(const SourceFunction* source) {
  const auto [known, is_new] = known_functions_.try_emplace(source);
  if (!is_new) return known->second;
  NameTable::Function row{0, 0, 0};
  // The name of a place depends on the file's path.
  if (source != nullptr && !source->is_place) {
    row = {text(&source->name), text(source->file), source->line};
  }
  return known->second = function(row);
}

uint32_t NameTableWriter::function(const NameTable::Function& row) {
  const std::string_view bytes(reinterpret_cast<const char*>(&row), sizeof row);
  const auto next = static_cast<uint32_t>(functions_.size());
  const auto [known, is_new] = function_numbers_.try_emplace(std::string(bytes), next);
  if (is_new) functions_.push_back(row);
  return known->second;
}

uint32_t NameTableWriter::text(std::string_view text) {
  if (const auto known = text_numbers_.find(text); known != text_numbers_.end()) {
    return known->second;
  }
  const auto next = static_cast<uint32_t>(text_ends_.size());
  text_numbers_.emplace(text, next);
  chars_ += text;
  text_ends_.push_back(static_cast<uint32_t>(chars_.size()));
  return next;
}

std::string NameTableWriter::bytes(const NameTableKey& key) const {
  NameTableHeader header;
  header.key = key;
  const auto count = [](const auto& column) { return static_cast<uint32_t>(column.size()); };
  header.addresses = count(svmas_);
  header.stacks = count(line_ends_);
  header.lines = count(lines_);
  header.functions = count(functions_);
  header.texts = count(text_ends_);
  header.text_bytes = count(chars_);
  std::string bytes(sizeof header, '\0');
  append(svmas_, &bytes);
  append(stacks_, &bytes);
  append(line_ends_, &bytes);
  append(lines_, &bytes);
  append(functions_, &bytes);
  append(text_ends_, &bytes);
  bytes += chars_;
  header.checksum = libdeflate_crc32(0, bytes.data() + sizeof header, bytes.size() - sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace sampan::symbolizer
