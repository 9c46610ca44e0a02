#include "cli/values.h"

#include <optional>
#include <string_view>
#include <utility>

#include "base/text/quantity.h"
#include "cli/command.h"
#include "sampler/recorder/source.h"
#include "wire/control_block.h"

namespace sampan::cli {

uint64_t time_value(const std::string& option, const std::string& text, const TimeRange& range) {
  const std::optional<uint64_t> ns = parse_time(text, range.plain_ns);
  if (ns && *ns >= range.least_ns && *ns <= range.most_ns) return *ns;
  throw UsageError("{} takes {}, not '{}'", option, range.allowed, text);
}

unsigned rate_value(const std::string& option, const std::string& text) {
  const std::optional<uint64_t> hz = parse_rate(text);
  if (hz && *hz >= 1 && *hz <= wire::kHighestRateHz) return static_cast<unsigned>(*hz);
  throw UsageError("{} takes samples per second, such as 99 or 1k, up to {}k, not '{}'", option,
                   wire::kHighestRateHz / 1000, text);
}

uint64_t heap_mean_value(const std::string& option, const std::string& text) {
  if (text == "on") return sampler::kUsualHeapMean;
  if (text == "off") return 0;
  const std::optional<uint64_t> bytes = parse_size(text, PlainNumber::kBytes);
  if (bytes && *bytes >= 1 && *bytes <= sampler::kLargestHeapMean) return *bytes;
  throw UsageError(
      "{} takes a number of bytes such as 65536, 64K or 1M, up to 1G, on or off, not '{}'", option,
      text);
}

uint64_t lock_limit_value(const std::string& option, const std::string& text) {
  if (text == "on") return sampler::kUsualLockLimitNs;
  if (text == "off") return 0;
  return time_value(option, text,
                    {.least_ns = kNsPerUs,
                     .most_ns = kNsPerSecond,
                     .plain_ns = 1,
                     .allowed = "a time from 1us to 1s such as 10us or 1ms, on or off"});
}

std::string served_url(const std::string& word) {
  if (word.starts_with("http://") || word.starts_with("https://")) return word;
  static constexpr std::string_view kDigits = "0123456789";
  const size_t colon = word.rfind(':');
  if (colon == word.npos || colon == 0 || colon + 1 == word.size()) return "";
  const std::string_view host(word.data(), colon);
  const bool is_host = host.find_first_of("/ =") == host.npos &&
                       (host.find(':') == host.npos || host.front() == '[');
  const bool has_port = word.find_first_not_of(kDigits, colon + 1) == word.npos;
  return is_host && has_port ? "http://" + word : "";
}

CLI::Option* add_time_option(CLI::App& command, const std::string& names,
                             const std::string& description, std::function<void(uint64_t)> set,
                             const TimeRange& range) {
  const std::string name = names.substr(names.find("--"));
  return command
      .add_option_function<std::string>(
          names,
          [name, set = std::move(set), range](const std::string& text) {
            set(time_value(name, text, range));
          },
          description)
      ->type_name("TIME");
}

}  // namespace sampan::cli
