#include "reports/rates.h"

#include <fmt/core.h>

#include "profile/rates.h"
#include "reports/text.h"

namespace sampan::reports {

std::string rate_text(const profile::Profile& profile) {
  const uint32_t asked = profile.session.rate_hz;
  const profile::RateRange range = profile::rate_range(profile);
  std::string text = fmt::format("{} Hz asked", asked);
  if (range.changed()) {
    text += fmt::format(", {} to {} Hz held, {} Hz last", range.lowest_hz, range.highest_hz,
                        range.last_hz);
  } else if (range.last_hz != asked) {
    text += fmt::format(", {} Hz held", range.last_hz);
  }
  return text + (range.governed ? " (--max-overhead)" : "");
}

std::string cost_text(const profile::Profile& profile) {
  const auto cost = profile::cost(profile);
  if (!cost) return "";
  const auto share = [&](uint64_t ns) { return 100 * profile::cost_share(*cost, ns); };
  const uint64_t all_ns = cost->in_target_ns + cost->recorder_ns;
  return fmt::format("{} s of CPU, {:.2f} % of the program's: {:.2f} % in it, {:.2f} % sampan",
                     seconds(all_ns), share(all_ns), share(cost->in_target_ns),
                     share(cost->recorder_ns));
}

}  // namespace sampan::reports
