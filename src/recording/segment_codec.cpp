#include "recording/segment_codec.h"

namespace sampan::recording {
void encode(const Segment& segment, ColumnWriter* out) {
  out->uleb(segment.number);
  out->uleb(segment.begin_ns);
  out->uleb(segment.earlier_cpu_ns);
}

std::optional<Segment> decode_segment(std::span<const uint8_t> payload) {
  ColumnReader in(payload);
  Segment segment;
  segment.number = in.uleb32();
  segment.begin_ns = in.uleb();
  segment.earlier_cpu_ns = in.uleb();
  if (!in.ok()) return std::nullopt;
  return segment;
}

void encode(const Identities& identities, ColumnWriter* out) {
  out->uleb(identities.processes.size());
  for (const Identities::OfProcess& process : identities.processes) {
    out->uleb(process.row);
    out->uleb(process.id);
    out->uleb(wire::kLossCount);
    for (const uint64_t count : process.losses.count) out->uleb(count);
  }
  out->uleb(identities.threads.size());
  for (const auto& [row, id] : identities.threads) {
    out->uleb(row);
    out->uleb(id);
  }
}

bool decode_identities(std::span<const uint8_t> payload, Recording* recording) {
  ColumnReader in(payload);
  Identities identities;
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    Identities::OfProcess& process = identities.processes.emplace_back();
    process.row = process.losses.process = in.index(recording->processes.size());
    process.id = in.uleb32();
    for (uint32_t i = 0, counters = in.count(); i < counters; ++i) {
      const uint64_t value = in.uleb();
      if (i < wire::kLossCount) process.losses.count[i] = value;
    }
  }
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    const uint32_t row = in.index(recording->threads.size());
    identities.threads.emplace_back(row, in.uleb32());
  }
  if (!in.ok() || !in.at_end()) return false;
  for (const Identities::OfProcess& process : identities.processes) {
    recording->processes[process.row].id = process.id;
    recording->earlier_losses.push_back(process.losses);
  }
  for (const auto& [row, id] : identities.threads) recording->threads[row].id = id;
  return true;
}

}  // namespace sampan::recording
