#include "recording/rate_codec.h"

namespace sampan::recording {

void encode(const Rates& rates, ColumnWriter* out) {
  out->uleb(rates.changes.size());
  for (const RateChange& row : rates.changes) {
    out->uleb(row.time_ns);
    out->uleb(row.rate_hz);
    out->u8(row.governed ? 1 : 0);
  }
  out->uleb(rates.costs.size());
  for (const Cost& row : rates.costs) {
    out->uleb(row.time_ns);
    out->uleb(row.target_ns);
    out->uleb(row.in_target_ns);
    out->uleb(row.recorder_ns);
  }
}

bool decode_rates(std::span<const uint8_t> payload, Rates* rates) {
  ColumnReader in(payload);
  Rates decoded;
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    RateChange& row = decoded.changes.emplace_back();
    row.time_ns = in.uleb();
    row.rate_hz = in.uleb32();
    row.governed = in.u8() != 0;
    if (row.rate_hz == 0) in.fail();
  }
  for (uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    Cost& row = decoded.costs.emplace_back();
    row.time_ns = in.uleb();
    row.target_ns = in.uleb();
    row.in_target_ns = in.uleb();
    row.recorder_ns = in.uleb();
  }
  if (!in.ok() || !in.at_end()) return false;
  rates->changes.insert(rates->changes.end(), decoded.changes.begin(), decoded.changes.end());
  rates->costs.insert(rates->costs.end(), decoded.costs.begin(), decoded.costs.end());
  return true;
}

}  // namespace sampan::recording
