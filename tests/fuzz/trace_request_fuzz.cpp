// Any bytes as the headers of a request that asks to be profiled.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "preload/process/process.h"
#include "preload/tracing/trace_request.h"

using namespace sampan;

void preload::count_loss(wire::Loss, uint64_t) {}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr wire::TraceId kTrace = {1, 2, 3};
  static const bool has_key = [] {
    constexpr char kKey[] = "a key of 16 bytes or more";
    const int fd = memfd_create("key", 0);
    if (write(fd, kKey, sizeof kKey) != sizeof kKey) return false;
    preload::read_trace_key(("/proc/self/fd/" + std::to_string(fd)).c_str());
    close(fd);
    return true;
  }();
  if (!has_key) abort();
  const std::string_view header(reinterpret_cast<const char*>(data), size);
  wire::TraceContext request{};
  if (preload::parse_traceparent(header, request) && !request.is_set()) abort();
  if (preload::proves_key(header, kTrace)) abort();
  return 0;
}
