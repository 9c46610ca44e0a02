#include "symbolizer/address_text.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

namespace sampan::symbolizer {

namespace {

constexpr std::string_view kInlinedBy = " (inlined by) ";
constexpr size_t kMaxNumbers = 32;  // ":LINE:COLUMN" and the characters between names

std::string_view function_of(const AnswerLine& line) {
  return line.function.empty() ? "??" : line.function;
}

std::string_view shown_file(std::string_view file, const AddressFormat& format) {
  if (format.base_names) file.remove_prefix(file.rfind('/') + 1);
  return file;
}

// Writes into room that was made before: most of the time of an answer that was known is this.
class Writer {
 public:
  explicit Writer(char* to) : to_(to) {}

  void put(std::string_view text) {
    std::memcpy(to_, text.data(), text.size());
    to_ += text.size();
  }
  void put(char c) { *to_++ = c; }
  void put_number(uint32_t number) { to_ = std::to_chars(to_, to_ + 10, number).ptr; }
  char* end() const { return to_; }

 private:
  char* to_;
};

void put_place(const AnswerLine& line, const AddressFormat& format, Writer& out) {
  out.put(line.file.empty() ? "??" : shown_file(line.file, format));
  out.put(':');
  if (format.style == AddressStyle::kLlvm) {
    out.put_number(line.line);
    out.put(':');
    out.put_number(line.column);
  } else if (line.line != 0 || line.function.empty()) {
    out.put_number(line.line);
  } else {
    out.put('?');
  }
}

void append_lines(std::span<const AnswerLine> lines, const AddressFormat& format,
                  std::string* text) {
  size_t room = 0;
  for (const AnswerLine& line : lines) {
    room += line.function.size() + line.file.size() + kInlinedBy.size() + kMaxNumbers;
  }
  const size_t before = text->size();
  text->resize(before + room);
  Writer out(text->data() + before);
  bool is_first = true;
  for (const AnswerLine& line : lines) {
    if (format.pretty) {
      if (!is_first) out.put(kInlinedBy);
      if (format.functions) {
        out.put(function_of(line));
        out.put(" at ");
      }
    } else if (format.functions) {
      out.put(function_of(line));
      out.put('\n');
    }
    put_place(line, format, out);
    out.put('\n');
    is_first = false;
  }
  text->resize(static_cast<size_t>(out.end() - text->data()));
}

void append_json(uint64_t svma, std::span<const AnswerLine> lines, const AddressFormat& format,
                 std::string* text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto put = [&](const char* key, std::string_view value) {
    json.Key(key);
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  json.StartObject();
  put("Address", fmt::format("{:#x}", svma));
  put("ModuleName", format.module);
  json.Key("Symbol");
  json.StartArray();
  for (const AnswerLine& line : lines) {
    json.StartObject();
    json.Key("Column");
    json.Uint(line.column);
    put("FileName", shown_file(line.file, format));
    put("FunctionName", line.function);
    json.Key("Line");
    json.Uint(line.line);
    put("StartFileName", shown_file(line.function_file, format));
    json.Key("StartLine");
    json.Uint(line.function_line);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  *text += buffer.GetString();
  *text += '\n';
}

}  // namespace

uint64_t parse_address(std::string_view word, AddressStyle style) {
  const bool has_prefix = word.starts_with("0x") || word.starts_with("0X");
  if (has_prefix) word.remove_prefix(2);
  uint64_t value = 0;
  const int base = has_prefix || style == AddressStyle::kGnu ? 16 : 10;
  std::from_chars(word.data(), word.data() + word.size(), value, base);
  return value;
}

std::vector<uint64_t> parse_addresses(std::string_view lines, AddressStyle style) {
  std::vector<uint64_t> svmas;
  svmas.reserve(static_cast<size_t>(std::ranges::count(lines, '\n')));
  for (size_t begin = 0, end; (end = lines.find('\n', begin)) != lines.npos; begin = end + 1) {
    svmas.push_back(parse_address(lines.substr(begin, end - begin), style));
  }
  return svmas;
}

void append_address(uint64_t svma, std::span<const AnswerLine> lines, const AddressFormat& format,
                    std::string* text) {
  static const AnswerLine kUnknown;
  std::span<const AnswerLine> shown = lines.empty() ? std::span(&kUnknown, 1) : lines;
  AnswerLine outermost;
  if (!format.inlines && lines.size() > 1) {
    outermost = lines.front();
    outermost.function = lines.back().function;
    outermost.function_file = lines.back().function_file;
    outermost.function_line = lines.back().function_line;
    shown = std::span(&outermost, 1);
  }
  if (format.style == AddressStyle::kJson) return append_json(svma, shown, format, text);
  if (format.addresses) {
    const int digits = format.style == AddressStyle::kGnu ? 16 : 0;
    fmt::format_to(std::back_inserter(*text), "0x{:0{}x}", svma, digits);
    *text += format.pretty ? ": " : "\n";
  }
  append_lines(shown, format, text);
  if (format.style == AddressStyle::kLlvm && !format.pretty) *text += '\n';
}

}  // namespace sampan::symbolizer
