#include "recording/segment_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "recording/join.h"

namespace sampan::recording {
namespace {

// The block that says where a segment begins is behind that of the session, which is as long as the
// command line.
constexpr size_t kHead = size_t{64} << 10;
// Samples may be so much older than the segment that they came into.
constexpr uint64_t kLateNs = 200'000'000;

std::optional<uint32_t> number_of(const std::filesystem::path& file) {
  const std::string name = file.filename();
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || std::string_view(end) != ".sampan") return std::nullopt;
  return number;
}

// Where the segment begins; nothing when it cannot be read.
std::optional<uint64_t> begin_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string head(kHead, '\0');
  const ssize_t size = ::read(fd, head.data(), head.size());
  ::close(fd);
  if (size <= 0) return std::nullopt;
  head.resize(static_cast<size_t>(size));
  try {
    return parse(head, path).segment.value_or(Segment()).begin_ns;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// From the segment that `from_ns` is in to that of `to_ns`.
std::vector<std::string> overlapping(const std::vector<std::string>& files, uint64_t from_ns,
                                     uint64_t to_ns) {
  if (from_ns == 0 && to_ns == UINT64_MAX) return files;
  std::vector<std::string> chosen;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const std::optional<uint64_t> begin_ns = begin_of(*file);
    if (!begin_ns || (*begin_ns > kLateNs && *begin_ns - kLateNs >= to_ns)) continue;
    chosen.insert(chosen.begin(), *file);
    if (*begin_ns <= from_ns) break;
  }
  return chosen;
}

}  // namespace

std::string segment_file_name(uint32_t number) {
  return fmt::format("{:06}.sampan", number);
}

std::vector<std::string> segment_files(const std::string& directory) {
  std::vector<std::pair<uint32_t, std::string>> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (const auto number = number_of(entry.path())) found.emplace_back(*number, entry.path());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> files;
  for (auto& [number, path] : found) files.push_back(std::move(path));
  return files;
}

Recording read_segments(const std::vector<std::string>& files, uint64_t from_ns, uint64_t to_ns) {
  Joiner joiner;
  std::string problem;
  bool any = false;
  for (const std::string& path : overlapping(files, from_ns, to_ns)) {
    try {
      joiner.add(read(path));
      any = true;
    } catch (const Error& error) {
      if (::access(path.c_str(), F_OK) == 0) problem = error.what();  // else it was too old
    }
  }
  if (!any && !problem.empty()) throw Error("{}", problem);
  if (!any) throw Error("no segment of the recording is there to be read");
  Recording joined = joiner.finish();
  if (!problem.empty()) joined.damage.push_back(problem);
  return cut(std::move(joined), from_ns, to_ns);
}

Recording read_whole(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return rebased(read(path));
  return rebased(read_segments(segment_files(path)));
}

}  // namespace sampan::recording
