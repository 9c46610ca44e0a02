#include "sampler/process/memory_map.h"

#include <sys/sysmacros.h>

#include <charconv>

#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"

namespace sampan::sampler {
namespace {

// Takes a hexadecimal number and the character after it. False when they are not there.
bool take_hex(std::string_view& text, char behind, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const auto length = static_cast<size_t>(end - text.data());
  if (error != std::errc() || length >= text.size() || *end != behind) return false;
  text.remove_prefix(length + 1);
  return true;
}

// The kernel escapes a newline in a path as \012, and nothing else.
std::string unescape(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    if (path.starts_with("\\012")) {
      result += '\n';
      path.remove_prefix(4);
    } else {
      result += path[0];
      path.remove_prefix(1);
    }
  }
  return result;
}

}  // namespace

std::optional<MappedRange> parse_map_line(std::string_view line) {
  MappedRange range{};
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t major = 0;
  uint64_t minor = 0;
  if (!take_hex(line, '-', start) || !take_hex(line, ' ', end)) return std::nullopt;
  range.start = Avma::at(start);
  range.end = Avma::at(end);
  if (range.start >= range.end || line.size() < 5) return std::nullopt;
  range.executable = line[2] == 'x';
  line.remove_prefix(5);
  if (!take_hex(line, ' ', range.offset) || !take_hex(line, ':', major) ||
      !take_hex(line, ' ', minor)) {
    return std::nullopt;
  }
  range.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  range.inode = take_number(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view path = range.inode != 0 ? without_deleted(line) : line;
  range.deleted = path.size() != line.size();
  range.path = unescape(path);
  return range;
}

std::vector<MappedRange> read_memory_map(pid_t pid) {
  std::vector<MappedRange> ranges;
  const std::string text = read_whole(shared_entries(pid) + "/maps").value_or("");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (auto range = parse_map_line(std::string_view(text).substr(begin, end - begin))) {
      ranges.push_back(std::move(*range));
    }
    begin = end + 1;
  }
  return ranges;
}

}  // namespace sampan::sampler
