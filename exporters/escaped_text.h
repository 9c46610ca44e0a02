// Names as text of JSON, XML and line-based formats. Names may have any bytes; the texts are valid
// UTF-8.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace sampan::exporters {

// In quotes, escaped: for JSON that is written piece by piece, where RapidJSON's Writer is neither
// faster nor clearer.
inline std::string json_string(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const std::string valid = valid_utf8(text);
  writer.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

// Without line breaks.
inline std::string one_line(std::string_view name) {
  std::string text = valid_utf8(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

// The same as a frame of a stack "main;work": ':' for ';' as stackcollapse-perf.pl does.
inline std::string folded_text(std::string_view name) {
  std::string text = one_line(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

// Escaped for XML, with spaces for characters that XML does not allow.
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
