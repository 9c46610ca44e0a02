// Percent-encoding (RFC 3986, 2.1), and lists of names and values in it: "a=1&b=x%20y".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sampan::push {

// All but letters, digits and "-._~" is encoded.
std::string percent_encoded(std::string_view text);
// Nothing where a "%" has no two hexadecimal digits behind it.
std::optional<std::string> percent_decoded(std::string_view text);

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string encoded_pairs(const Pairs& pairs);
// The same back, split at `separator`; nothing where it is no such list. Of W3C's baggage and
// OTEL_RESOURCE_ATTRIBUTES the separator is ','. Names are not empty; white space around names and
// values does not count.
std::optional<Pairs> decoded_pairs(std::string_view text, char separator);

}  // namespace sampan::push
