// What the weights of a profile are in. sampan records time; imported profiles may count events, samples or bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace sampan::profile {

// The weight of one event or byte: recordings keep thousands of a weight (weights of time in microseconds).
inline constexpr uint64_t kWeightOfOne = 1'000;

class Unit {
 public:
  // `largest`: of the weights that are shown. It decides the prefix, so that all of a table have the same one.
  Unit(const Session& session, uint64_t largest);

  bool is_time() const { return counted_.empty(); }
  // "s", "cycles", "M cycles", "MB"
  const std::string& name() const { return name_; }
  // For a column or a heading: "seconds", else the name.
  std::string_view plural() const { return is_time() ? std::string_view("seconds") : name_; }
  // The name without a prefix: "time", "cycles", "bytes".
  std::string_view what() const { return is_time() ? std::string_view("time") : counted_; }
  // "0.004", "12.34", "1,234.5", without the name
  std::string text(uint64_t weight) const;
  // The same with the name: "0.004 s", "12.34 M cycles"
  std::string amount(uint64_t weight) const { return text(weight) + " " + name_; }
  // For programs: seconds, or a count without prefix, and the key in JSON of such a value: "self_s", "self".
  double value(uint64_t weight) const;
  std::string key(std::string_view what) const;

 private:
  std::string counted_;  // Session::unit
  std::string name_;
  uint64_t divisor_ = 1;
};

// A weight as a whole number of the smallest unit: ns, or the count.
uint64_t whole_units(const Session& session, uint64_t weight);

// The type and the unit of a value that is no time, as pprof and OTLP write them: {"cycles", "count"}, {"space", "bytes"}.
struct ValueType {
  std::string_view type, unit;
};
ValueType counted_type(const Session& session);

}  // namespace sampan::profile
