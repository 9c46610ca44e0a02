#include "preload/tracing/trace_request.h"

#include <fcntl.h>

#include <span>

#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/tracing/sha256.h"

namespace sampan::preload {
namespace {

constexpr size_t kShortestKey = 16, kLongestKey = 1024;
uint8_t key[kLongestKey + 1];
size_t key_size;

size_t read_file(const char* path, std::span<uint8_t> to) {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  size_t size = 0;
  long count = 1;
  while (count > 0 && size < to.size()) {
    count = raw_syscall(SYS_read, fd, to.data() + size, to.size() - size);
    if (count > 0) size += static_cast<size_t>(count);
  }
  raw_syscall(SYS_close, fd);
  return count < 0 ? 0 : size;
}

// -1: no digit.
int digit(char letter, bool upper_case) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return upper_case && letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

// The bytes that `text` begins with; false when it is too short or has other letters.
bool parse_bytes(std::string_view text, bool upper_case, std::span<uint8_t> bytes) {
  if (text.size() < 2 * bytes.size()) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(text[2 * i], upper_case), low = digit(text[2 * i + 1], upper_case);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

bool is_space(char letter) {
  return letter == ' ' || letter == '\t';
}

std::string_view part(std::string_view text, size_t from, size_t to) {
  return {text.data() + from, to - from};
}

// The value of our entry in the list; empty when it has none.
std::string_view our_entry(std::string_view list) {
  constexpr std::string_view kOurs = "sampan=";
  for (size_t begin = 0; begin < list.size();) {
    size_t end = begin;
    while (end < list.size() && list[end] != ',') ++end;
    size_t first = begin, last = end;
    while (first < last && is_space(list[first])) ++first;
    while (first < last && is_space(list[last - 1])) --last;
    if (part(list, first, last).starts_with(kOurs)) return part(list, first + kOurs.size(), last);
    begin = end + 1;
  }
  return {};
}

}  // namespace

void read_trace_key(const char* path) {
  key_size = 0;
  if (path == nullptr || *path == '\0') return;
  size_t size = read_file(path, key);
  const bool fits = size <= kLongestKey;
  while (size > 0 && (key[size - 1] == '\n' || key[size - 1] == '\r')) --size;
  if (!fits || size < kShortestKey) return count_loss(wire::Loss::kTraceKey);
  key_size = size;
}

bool parse_traceparent(std::string_view header, wire::TraceContext& request) {
  constexpr size_t kSize = 55, kTrace = 3, kSpan = 36, kFlags = 53;
  uint8_t version = 0, flags = 0;
  if (header.size() < kSize || !parse_bytes(header, false, {&version, 1}) || version == 0xff) {
    return false;
  }
  // Later versions may have more.
  if (header.size() > kSize && (version == 0 || header[kSize] != '-')) return false;
  if (header[kTrace - 1] != '-' || header[kSpan - 1] != '-' || header[kFlags - 1] != '-') {
    return false;
  }
  request = {};
  return parse_bytes(part(header, kTrace, kSize), false, request.trace_id) &&
         parse_bytes(part(header, kSpan, kSize), false, request.parent_id) &&
         parse_bytes(part(header, kFlags, kSize), false, {&flags, 1}) && request.is_set() &&
         request.parent_id != wire::SpanId{};
}

bool proves_key(std::string_view tracestate, const wire::TraceId& trace_id) {
  if (key_size == 0) return false;
  const std::string_view entry = our_entry(tracestate);
  Digest proof{};
  if (entry.size() != 2 * proof.size() || !parse_bytes(entry, true, proof)) return false;
  constexpr char kDigits[] = "0123456789abcdef";
  uint8_t message[2 * sizeof trace_id];
  for (size_t i = 0; i < trace_id.size(); ++i) {
    message[2 * i] = static_cast<uint8_t>(kDigits[trace_id[i] / 16]);
    message[2 * i + 1] = static_cast<uint8_t>(kDigits[trace_id[i] % 16]);
  }
  return equal_in_constant_time(proof, hmac_sha256({key, key_size}, message));
}

}  // namespace sampan::preload
