// The payload of kRates blocks (format.h): which rate held from when, and what sampling cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "recording/columns.h"
#include "recording/tables.h"

namespace sampan::recording {

struct Rates {
  std::vector<RateChange> changes;
  std::vector<Cost> costs;
};

void encode(const Rates& rates, ColumnWriter* out);
// Appends; false, and `rates` as they were, when the payload makes no sense.
bool decode_rates(std::span<const uint8_t> payload, Rates* rates);

}  // namespace sampan::recording
