#include "attach/call_site.h"

#include <sys/uio.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "attach/memory_map.h"

namespace sampan::attach {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kMostCode = 64 * 1024 * 1024;  // read of one process
constexpr std::string_view kCall("\x0f\x05\xc3", 3);
// As assemblers write it, and as Go's does.
constexpr std::string_view kSignalReturn("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
constexpr std::string_view kShortSignalReturn("\xb8\x0f\x00\x00\x00\x0f\x05", 7);

size_t read_at(pid_t pid, uint64_t avma, std::vector<char>& bytes) {
  iovec here{bytes.data(), bytes.size()};
  iovec there{reinterpret_cast<void*>(avma), bytes.size()};
  const ssize_t size = process_vm_readv(pid, &here, 1, &there, 1, 0);
  return size > 0 ? static_cast<size_t>(size) : 0;
}

void look_for(std::string_view code, std::string_view text, uint64_t start, uint64_t& found) {
  if (found != 0) return;
  if (const size_t at = text.find(code); at != std::string_view::npos) found = start + at;
}

// The C library stays for ever and has both; other libraries may be unloaded.
int preference(const MappedRange& range, const std::string& program) {
  const std::string_view name = std::string_view(range.path).substr(range.path.rfind('/') + 1);
  if (name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-musl")) {
    return 0;
  }
  if (range.path == program) return 1;
  return range.path == "[vdso]" ? 2 : 3;
}

}  // namespace

std::optional<CallSite> find_call_site(pid_t pid) {
  std::vector<MappedRange> ranges = read_memory_map(pid);
  if (ranges.empty()) return std::nullopt;
  const std::string program = ranges.front().path;
  std::erase_if(ranges, [](const MappedRange& range) {
    return !range.executable || (range.inode == 0 && range.path != "[vdso]");
  });
  std::stable_sort(ranges.begin(), ranges.end(), [&](const auto& a, const auto& b) {
    return preference(a, program) < preference(b, program);
  });

  CallSite site{};
  uint64_t short_return = 0;
  size_t left = kMostCode;
  std::vector<char> piece(kPiece);
  for (const MappedRange& range : ranges) {
    if (preference(range, program) > 2) break;  // might be unloaded while we rely on it
    for (uint64_t at = range.start; at < range.end && left > 0;) {
      piece.resize(std::min<size_t>(kPiece, range.end - at));
      const size_t size = read_at(pid, at, piece);
      if (size == 0) break;
      const std::string_view text(piece.data(), size);
      look_for(kCall, text, at, site.call);
      look_for(kSignalReturn, text, at, site.signal_return);
      look_for(kShortSignalReturn, text, at, short_return);
      if (site.call != 0 && site.signal_return != 0) return site;
      left -= std::min(left, size);
      if (at + size >= range.end) break;
      at += size > kPiece / 2 ? size - kSignalReturn.size() : size;  // one may lie across the seam
    }
  }
  if (site.signal_return == 0) site.signal_return = short_return;
  if (site.call == 0 || site.signal_return == 0) return std::nullopt;
  return site;
}

std::optional<StackRange> first_stack(pid_t pid) {
  for (const MappedRange& range : read_memory_map(pid)) {
    if (range.path == "[stack]") return StackRange{range.start, range.end};
  }
  return std::nullopt;
}

}  // namespace sampan::attach
