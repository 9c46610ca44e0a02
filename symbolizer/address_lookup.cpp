#include "symbolizer/address_lookup.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

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

// Writes into space that was allocated before: with cached answers, most of the time is spent here.
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

std::string_view text_of(const std::string* text) {
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

void show(const SourceLines& lines, std::vector<AnswerLine>* shown) {
  for (const SourceLine& line : lines) {
    AnswerLine& answer = shown->emplace_back();
    answer.file = text_of(line.file);
    answer.line = line.line;
    answer.column = line.column;
    if (line.function == nullptr) continue;
    answer.function = line.function->name;
    answer.function_file = text_of(line.function->file);
    answer.function_line = line.function->line;
  }
}

void show(const NameTable& names, size_t row, std::vector<AnswerLine>* shown) {
  for (const NameTable::Line& line : names.lines(row)) {
    const NameTable::Function& function = names.functions()[line.function];
    shown->push_back({names.text(function.name), names.text(line.file), line.line, 0,
                      names.text(function.file), function.line});
  }
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

AddressLookup::AddressLookup(const std::string& path, const Options& options)
    : options_(options), module_{.path = path, .build_id = {}}, names_(options.linkage_names) {
  const ElfFile file(path);
  module_.build_id.assign(file.build_id().begin(), file.build_id().end());
  if (options_.cache_directory.empty()) return;
  cache_.emplace(options_.cache_directory, file.build_id(), options_.linkage_names);
}

void AddressLookup::open_source() {
  if (source_) return;
  source_.emplace(module_, module_.path, options_.debug_directories,
                  std::numeric_limits<uint64_t>::max(), options_.debug_server.get());
  if (source_->debug() != nullptr) resolver_.emplace(*source_->debug(), names_);
}

std::string AddressLookup::problem() const {
  const std::string source_problem = source_ ? source_->problem() : "";
  if (!source_problem.empty()) return source_problem;
  return options_.debug_server ? options_.debug_server->problem() : "";
}

void AddressLookup::find(std::span<const uint64_t> svmas, const Answer& answer) {
  std::vector<uint64_t> unknown;
  for (const uint64_t svma : svmas) {
    if (!cache_ || !cache_->known().find(svma)) unknown.push_back(svma);
  }
  const LinesByAddress found = look_up(std::move(unknown));
  std::vector<AnswerLine> lines;
  for (const uint64_t svma : svmas) {
    lines.clear();
    if (const SourceLines* const source = found.find(svma)) {
      show(*source, &lines);
    } else {
      show(cache_->known(), *cache_->known().find(svma), &lines);
    }
    answer(svma, lines);
  }
  if (cache_ && resolver_ && source_->is_whole()) cache_->add(found, found.svmas());
}

LinesByAddress AddressLookup::look_up(std::vector<uint64_t> svmas) {
  if (svmas.empty()) return {};
  std::ranges::sort(svmas);
  svmas.erase(std::unique(svmas.begin(), svmas.end()), svmas.end());
  LinesByAddress lines(std::move(svmas));
  open_source();
  if (resolver_) {
    for (const auto& unit : dwarf::group_by_unit(source_->debug()->file(), lines.svmas())) {
      resolver_->resolve(unit, lines);
    }
  }
  for (const uint64_t svma : lines.svmas()) {
    SourceLines& found = *lines.find(svma);
    source_->complete(found, svma, names_);
    if (found.size() == 1 && found[0].function == nullptr && found[0].file == nullptr) {
      found.clear();
    }
  }
  return lines;
}

}  // namespace sampan::symbolizer
