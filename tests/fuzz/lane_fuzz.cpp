// Whatever a target can write into the lanes of markers, their names and its open spans. The input is
// a list of commands. Everything is drained into a recording, which must be readable without damage.
//
//   input  { u8 kind, ... }...: see Command
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/byte_cursor.h"
#include "recording/reader.h"
#include "recording/writer.h"
#include "sampler/rings/shim_process.h"
#include "wire/control_block.h"
#include "wire/marker_lane.h"
#include "wire/record.h"

namespace {

using namespace sampan;

constexpr size_t kLongestInput = 16384;
constexpr uint32_t kSlots = wire::kFewestSlots;
constexpr uint32_t kLanes = 3;
constexpr uint32_t kNames = 4;

enum Command : uint8_t {
  kRecord,     // u8 lane, u8 type, u8 flags, u8 tid, u8 name, u8 size, text, u64 value[3]
  kCell,       // u8 lane, u8 which, 64 bytes: the content of the cell
  kPublished,  // the same, with the right sequence
  kHead,       // u8 lane, u16 distance, or with bit 15 u64 position
  kName,       // u8 index, u32 offset, u32 size, u8 count
  kOpenSpan,   // u8 depth, u64 id, u64 begin, u64 parent, u32 name
  kDrain,
  kCommandCount,
};

void write_record(ByteCursor& input, void* base) {
  const uint32_t lane = input.u8() % kLanes;
  wire::MarkerRecord record{};
  record.type = input.u8() % 16;
  record.flags = input.u8() % 4;
  record.tid = input.u8() % 4;
  record.name = input.u8() % 8;
  if (record.name == 0) record.name = wire::kInlineName;
  const auto text = input.take(std::min<size_t>(input.u8(), input.remaining()));
  for (uint64_t& value : record.value) value = input.u64();
  const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
  wire::LaneWriter writer(wire::lane_positions(base, kSlots, lane),
                          wire::lane_cells(base, kSlots, lane));
  writer.write(record, view.substr(0, view.size() / 2), view);
}

void write_cell(ByteCursor& input, void* base, bool published) {
  const uint32_t lane = input.u8() % kLanes;
  const uint64_t position = wire::lane_positions(base, kSlots, lane)->head.load() - input.u8() % 32;
  wire::MarkerCell& cell = wire::lane_cells(base, kSlots, lane)[position % wire::kLaneCells];
  const auto bytes = input.take(sizeof cell.bytes);
  if (!bytes.empty()) std::memcpy(cell.bytes, bytes.data(), bytes.size());
  cell.sequence = published ? position + 1 : input.u64();
}

void perform(ByteCursor& input, void* base, sampler::ShimProcess& process) {
  switch (input.u8() % kCommandCount) {
    case kRecord: write_record(input, base); break;
    case kCell: write_cell(input, base, false); break;
    case kPublished: write_cell(input, base, true); break;
    case kHead: {
      auto& head = wire::lane_positions(base, kSlots, input.u8() % kLanes)->head;
      const uint16_t distance = input.u16();
      head = (distance & 0x8000) != 0 ? input.u64() : head + distance;
      break;
    }
    case kName: {
      wire::MarkerNames* names = wire::marker_names(base, kSlots);
      const uint8_t index = input.u8() % kNames;
      names->entries[index] = {input.u32(), input.u32()};
      names->count = input.u8() % (kNames + 1);
      break;
    }
    case kOpenSpan: {
      wire::OpenSpan& span =
          wire::thread_slot(base, 0)->open.spans[input.u8() % wire::kMaxOpenSpans];
      span.id = input.u64();
      span.begin_ns = input.u64();
      span.parent_id = input.u64();
      span.name = input.u32();
      break;
    }
    case kDrain: process.drain(); break;
  }
}

void start_thread(void* base) {
  wire::control_block(base)->slots_used = 1;
  wire::RingWriter ring(&wire::thread_slot(base, 0)->ring, wire::thread_ring_buffer(base, 0));
  uint8_t start[4 + 8 + 8 + wire::kThreadNameSize] = {1};  // tid 1
  std::memcpy(ring.begin(sizeof start).data(), start, sizeof start);
  ring.commit(static_cast<uint8_t>(wire::RecordType::kThreadStart), sizeof start);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kLongestInput) return 0;
  ByteCursor input(std::span(data, size));
  const std::string path = "/dev/shm/lane_fuzz." + std::to_string(getpid());
  unlink(path.c_str());
  {
    recording::Writer writer(path, {});
    sampler::SharedMemory memory(kSlots);
    void* base = memory.base();
    sampler::ShimProcess::Origin origin{1, 0, "fuzz", {0}, 0, 0};
    origin.switches.sections_only = size % 2 == 1;
    sampler::ShimProcess process(writer, origin, std::move(memory));
    start_thread(base);
    while (!input.at_end()) perform(input, base, process);
    process.finish({UINT64_MAX});
    writer.finish({});
  }
  if (!recording::read(path).damage.empty()) abort();
  unlink(path.c_str());
  return 0;
}
