#include "base/text/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>

namespace sampan {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << 60;

struct Unit {
  std::string_view name;
  uint64_t amount;
};

// `units` has "" if a number may stand alone.
std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
  // Not "-1" and "inf".
  if (text.find_first_of("0123456789.") != 0) return std::nullopt;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string_view name(rest, static_cast<size_t>(end - rest));
  const auto unit = std::ranges::find(units, name, &Unit::name);
  if (error != std::errc() || unit == units.end()) return std::nullopt;
  const double amount = number * static_cast<double>(unit->amount);
  if (amount > static_cast<double>(kLargest)) return std::nullopt;
  return amount;
}

std::optional<uint64_t> rounded(std::optional<double> amount) {
  if (!amount) return std::nullopt;
  return static_cast<uint64_t>(std::llround(*amount));
}

}  // namespace

std::optional<uint64_t> parse_time(std::string_view text, uint64_t plain_ns) {
  const Unit units[] = {{"", plain_ns},
                        {"us", kNsPerUs},
                        {"ms", kNsPerMs},
                        {"s", kNsPerSecond},
                        {"m", 60 * kNsPerSecond},
                        {"h", 3600 * kNsPerSecond},
                        {"d", 86400 * kNsPerSecond}};
  return rounded(parse(text, units));
}

std::optional<uint64_t> parse_size(std::string_view text, PlainNumber plain) {
  constexpr Unit kUnits[] = {{"", 1},
                             {"K", uint64_t{1} << 10},
                             {"M", uint64_t{1} << 20},
                             {"G", uint64_t{1} << 30},
                             {"T", uint64_t{1} << 40}};
  return rounded(parse(text, std::span(kUnits).subspan(plain == PlainNumber::kBytes ? 0 : 1)));
}

std::optional<uint64_t> parse_rate(std::string_view text) {
  constexpr Unit kUnits[] = {{"", 1}, {"k", 1000}};
  const std::optional<double> rate = parse(text, kUnits);
  if (!rate || *rate != std::floor(*rate)) return std::nullopt;
  return rounded(rate);
}

}  // namespace sampan
