#include "profile/trace_ids.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/nearest.h"

namespace sampan::profile {

std::string hex_text(std::span<const uint8_t> id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : id) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

std::vector<bool> contexts_of_trace(const Profile& profile, const std::string& wanted) {
  std::string begin = wanted;
  std::ranges::transform(begin, begin.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  if (profile.contexts.empty()) {
    throw Error("the recording has no samples with a trace id: see docs/markers.md");
  }
  std::vector<bool> found;
  std::set<std::string> ids, known;
  for (const TraceContext& context : profile.contexts) {
    const std::string text = trace_text(context);
    known.insert(text);
    found.push_back(text.starts_with(begin));
    if (found.back()) ids.insert(text);
  }
  if (ids.empty()) {
    throw Error("no sample is of the trace '{}'{}", wanted,
                did_you_mean(begin, std::vector<std::string>(known.begin(), known.end())));
  }
  if (ids.size() > 1) {
    throw Error("{} traces begin with '{}': {}, {}, …", ids.size(), wanted, *ids.begin(),
                *std::next(ids.begin()));
  }
  return found;
}

}  // namespace sampan::profile
