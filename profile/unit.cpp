#include "profile/unit.h"

#include "base/text/readable.h"
#include "base/time.h"
#include "base/units.h"

namespace sampan::profile {

Unit::Unit(const Session& session, uint64_t largest)
    : counted_(session.unit), name_("s"), divisor_(kNsPerSecond) {
  if (is_time()) return;
  constexpr uint64_t kStep = 1000, kWidest = 10'000;  // larger ones are shown in thousands
  constexpr std::string_view kPrefixes = " kMGTP";
  size_t prefix = 0;
  divisor_ = kWeightOfOne;
  while (largest / divisor_ >= kWidest && prefix + 1 < kPrefixes.size()) {
    divisor_ *= kStep;
    ++prefix;
  }
  const std::string letter = prefix == 0 ? "" : std::string(1, kPrefixes[prefix]);
  name_ = counted_ != "bytes" ? letter + (letter.empty() ? "" : " ") + counted_
          : letter.empty()    ? "bytes"
                              : letter + "B";
}

std::string Unit::text(uint64_t weight) const {
  if (!is_time() && divisor_ == kWeightOfOne) return count(weight / kWeightOfOne);
  return number(static_cast<double>(weight) / static_cast<double>(divisor_));
}

double Unit::value(uint64_t weight) const {
  return is_time() ? in_seconds(weight)
                   : static_cast<double>(weight) / static_cast<double>(kWeightOfOne);
}

std::string Unit::key(std::string_view what) const {
  return std::string(what) + (is_time() ? "_s" : "");
}

uint64_t whole_units(const Session& session, uint64_t weight) {
  return session.unit.empty() ? weight : weight / kWeightOfOne;
}

ValueType counted_type(const Session& session) {
  if (session.unit == "bytes") return {"space", "bytes"};
  return {session.unit, "count"};
}

}  // namespace sampan::profile
