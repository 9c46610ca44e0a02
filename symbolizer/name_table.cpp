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

// A file, mapped: it is replaced whole, and never changed. Null when it cannot be read: it is but a
// cache.
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
  if (!makes_sense()) return false;
  divide();
  return true;
}

// A right checksum says that the file is as it was written, not who wrote it.
bool NameTable::makes_sense() const {
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

// In parts of a few addresses, so that one is found at once.
void NameTable::divide() {
  if (svmas_.empty()) return;
  const uint64_t first = svmas_.front(), range = svmas_.back() - first;
  const auto bits_of = [](uint64_t value) { return static_cast<unsigned>(std::bit_width(value)); };
  part_bits_ =
      bits_of(range) - std::min(bits_of(range), bits_of(svmas_.size() / kAddressesPerPart));
  parts_.resize((range >> part_bits_) + 2);
  for (const uint32_t svma : svmas_) ++parts_[((svma - first) >> part_bits_) + 1];
  for (size_t i = 1; i < parts_.size(); ++i) parts_[i] += parts_[i - 1];
}

std::optional<size_t> NameTable::find(uint64_t svma) const {
  if (svmas_.empty() || svma < svmas_.front() || svma > svmas_.back()) return std::nullopt;
  const size_t part = (svma - svmas_.front()) >> part_bits_;
  const auto begin = svmas_.begin();
  const auto end = begin + parts_[part + 1];
  const auto found = std::lower_bound(begin + parts_[part], end, svma);
  if (found == end || *found != svma) return std::nullopt;
  return static_cast<size_t>(found - begin);
}

}  // namespace sampan::symbolizer
