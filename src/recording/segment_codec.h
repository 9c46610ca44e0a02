// The payloads of kSegment and kIdentities (format.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "recording/columns.h"
#include "recording/reader.h"

namespace sampan::recording {

void encode(const Segment& segment, ColumnWriter* out);
std::optional<Segment> decode_segment(std::span<const uint8_t> payload);

// Rows, the ids that they have in all segments of the session, and losses of before.
struct Identities {
  struct OfProcess {
    uint32_t row, id;
    Losses losses;
  };
  std::vector<OfProcess> processes;
  std::vector<std::pair<uint32_t, uint32_t>> threads;
};
void encode(const Identities& identities, ColumnWriter* out);
// Sets the ids of the rows in `recording`, and its earlier losses; false, and nothing is set, when
// the payload makes no sense. Rows that were lost have no id.
bool decode_identities(std::span<const uint8_t> payload, Recording* recording);

}  // namespace sampan::recording
