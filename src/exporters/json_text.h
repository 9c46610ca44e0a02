// JSON written piece by piece: what RapidJSON's Writer does not do faster or more readably.
#pragma once

#include <string>
#include <string_view>

namespace sampan::exporters {

// `text` in quotes, escaped, and valid UTF-8 whatever it was.
std::string json_string(std::string_view text);

}  // namespace sampan::exporters
