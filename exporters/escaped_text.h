// Text in XML: escaped, valid UTF-8, and with spaces for characters that XML has no place for.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace sampan::exporters {

inline std::string xml_text(std::string_view text) {
  std::string valid = valid_utf8(text);
  for (const std::string_view no_character : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (size_t i; (i = valid.find(no_character)) != std::string::npos;) valid.replace(i, 3, " ");
  }
  std::string result;
  for (const char c : valid) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return result;
}

}  // namespace sampan::exporters
