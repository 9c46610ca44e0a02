// Any content of a ring of perf events, for its reader and all decoders: the input becomes the ring's
// content and positions, in three rounds.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/byte_cursor.h"
#include "sampler/perf/perf_ring.h"

namespace {

using namespace sampan;

constexpr size_t kDataSize = 4096;

uint64_t sum;  // so that all decoded values are read

void decode_all(sampler::PerfBytes record) {
  if (const auto identity = sampler::identify(record)) sum += identity->time_ns;
  for (const bool with_value : {false, true}) {
    const auto sample = sampler::decode_perf_sample(record, with_value);
    if (!sample) continue;
    sum += sample->value + sample->registers.value[unwind::kRip];
    for (const std::byte byte : sample->stack) sum += static_cast<uint64_t>(byte);
  }
  if (const auto task = sampler::decode_perf_task(record)) sum += static_cast<uint64_t>(task->tid);
  if (const auto comm = sampler::decode_perf_comm(record)) sum += comm->name.size();
  sum += sampler::decode_perf_lost(record).value_or(0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  ByteCursor input(std::span(bytes, size));
  perf_event_mmap_page control{};
  std::vector<uint8_t> data(kDataSize);
  sampler::PerfRing ring(&control, data);
  for (int round = 0; round < 3; ++round) {
    const uint16_t choice = input.u16();
    const auto written = input.take(std::min<size_t>(choice & 0x1fff, input.remaining()));
    for (size_t i = 0; i < written.size(); ++i) {
      data[(control.data_head + i) % kDataSize] = written[i];
    }
    control.data_head = (choice & 0x8000) != 0 ? input.u64() : control.data_head + written.size();
    const uint64_t limit = ring.head();
    while (true) {
      const sampler::PerfBytes record = ring.peek(limit);
      if (record.empty()) break;
      decode_all(record);
      ring.pop();
    }
  }
  return 0;
}
