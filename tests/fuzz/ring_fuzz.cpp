// Whatever a target can write into the shared memory: the input is copied over the positions and the
// buffers of the process ring and of two thread rings, then everything is drained into a recording,
// three times.
#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/byte_cursor.h"
#include "recording/writer.h"
#include "sampler/rings/shim_process.h"
#include "wire/control_block.h"

namespace {

using namespace sampan;

constexpr uint32_t kSlots = 2;
constexpr size_t kLongestInput = 16384;

// Bytes of the input for one ring: 2 of length, then the content. The head becomes what was written,
// or, depending on a bit, what the input says.
void fill(ByteCursor& input, wire::RingPositions& positions, std::span<uint8_t> buffer) {
  const uint16_t control = input.u16();
  const size_t size = std::min<size_t>({control & 0x1fffu, input.remaining(), buffer.size()});
  const std::span<const uint8_t> bytes = input.take(size);
  const uint64_t head = positions.head.load();
  for (size_t i = 0; i < bytes.size(); ++i) {
    buffer[(head + i) & (buffer.size() - 1)] = bytes[i];
  }
  positions.head.store((control & 0x8000u) != 0 ? input.u64() : head + bytes.size());
  if ((control & 0x4000u) != 0) positions.tail.store(input.u64());
}

void fill_all(ByteCursor& input, void* base) {
  wire::ControlBlock* control = wire::control_block(base);
  control->slots_used.store(kSlots);
  fill(input, control->process_ring, wire::process_ring_buffer(base));
  for (uint32_t i = 0; i < kSlots; ++i) {
    fill(input, wire::thread_slot(base, i)->ring, wire::thread_ring_buffer(base, i));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kLongestInput) return 0;
  ByteCursor input(std::span(data, size));
  const std::string path = "/dev/shm/ring_fuzz." + std::to_string(getpid());
  unlink(path.c_str());
  {
    recording::Writer writer(path, {});
    sampler::SharedMemory memory(wire::kFewestSlots);
    void* base = memory.base();
    sampler::ShimProcess process(writer, {1, 0, "fuzz", {0}, 0, 0, {true, false}},
                                 std::move(memory));
    for (int round = 0; round < 3; ++round) {
      fill_all(input, base);
      process.drain();
    }
    process.finish({UINT64_MAX});
    writer.finish({});
  }
  unlink(path.c_str());
  return 0;
}
