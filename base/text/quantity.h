// Times, sizes and rates as people write them: "500ms", "2G", "1k". Nothing: the text is not one, or
// the number is larger than 2^60 (of nanoseconds: 36 years).
//
// Hosted only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"

namespace sampan {

// In nanoseconds: "10us", "500ms", "10s", "1.5m", "1h", "7d". A number without a unit counts `plain_ns`.
std::optional<uint64_t> parse_time(std::string_view text, uint64_t plain_ns = kNsPerSecond);
// In bytes: "100K", "100M", "2G", "1T", by 1024. A unit is needed, unless numbers alone are `plain` bytes.
enum class PlainNumber { kRefused, kBytes };
std::optional<uint64_t> parse_size(std::string_view text,
                                   PlainNumber plain = PlainNumber::kRefused);
// Whole numbers: "99", "1k", "2.5k".
std::optional<uint64_t> parse_rate(std::string_view text);

}  // namespace sampan
