#include "exporters/firefox_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/processor.h"
#include "base/utf8.h"
#include "exporters/escaped_text.h"

namespace sampan::exporters {
namespace {

using profile::FunctionKind;
using profile::kNone;

// The id of a file for symbol servers: the first 16 bytes of the build-id as a GUID, whose first
// three fields are little-endian, and the age 0.
std::string breakpad_id(const std::vector<uint8_t>& build_id) {
  constexpr std::array kOrder = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  std::array<uint8_t, 16> guid{};
  std::copy_n(build_id.begin(), std::min(build_id.size(), guid.size()), guid.begin());
  std::string id;
  for (const int i : kOrder) id += fmt::format("{:02X}", guid[i]);
  return id + "0";
}

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// `value` repeated, for columns without a meaning for native code.
std::string repeated(std::string_view value, size_t count) {
  std::string text;
  text.reserve(count * (value.size() + 1));
  for (size_t i = 0; i < count; ++i) (text += i == 0 ? "" : ",") += value;
  return text;
}

std::string column(std::string_view name, std::string_view values) {
  return fmt::format(R"("{}":[{}],)", name, values);
}

std::optional<uint64_t> unless(uint64_t value, uint64_t absent) {
  return value == absent ? std::nullopt : std::optional(value);
}

}  // namespace

void FirefoxColumn::separate() {
  if (!text_.empty()) text_ += ',';
}

void FirefoxColumn::add(uint64_t number) {
  separate();
  const fmt::format_int digits(number);
  text_.append(digits.data(), digits.size());
}

void FirefoxColumn::add(std::optional<uint64_t> number) {
  if (number) return add(*number);
  add_text("null");
}

void FirefoxColumn::add_text(std::string_view json) {
  separate();
  text_ += json;
}

FirefoxTables::FirefoxTables(const profile::View& view, const FirefoxCategories& categories)
    : profile_(*view.profile),
      categories_(categories),
      kinds_(profile::function_kinds(profile_)),
      stacks_(profile_.stacks.size(), kNone),
      frames_(profile_.locations.size(), kNone),
      functions_(profile_.functions.size() + 1),
      libraries_(profile_.modules.size()),
      native_symbols_(profile_.functions.size()),
      sources_(profile_.strings.size()) {
  std::vector<bool> used(profile_.stacks.size());
  for (const uint32_t sample : view.samples) {
    uint32_t stack = profile_.samples[sample].stack;
    if (stack == kNone && unknown_stack_ == kNone) {
      frame_address_.add_text("-1");
      frame_depth_.add(0);
      frame_category_.add(0);
      frame_subcategory_.add(0);
      frame_function_.add(function(kNone));
      frame_symbol_.add(std::nullopt);
      frame_line_.add(std::nullopt);
      frame_column_.add(std::nullopt);
      unknown_stack_ = add_stack(frame_count_++, kNone);
    }
    for (; stack != kNone && !used[stack]; stack = profile_.stacks[stack].prefix)
      used[stack] = true;
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const profile::Stack& stack = profile_.stacks[i];
    const uint32_t frame = first_frame(stack.location);
    uint32_t node = stack.prefix == kNone ? kNone : stacks_[stack.prefix];
    for (uint32_t j = std::max(profile_.locations[stack.location].line_count, 1u); j-- > 0;) {
      node = add_stack(frame + j, node);
    }
    stacks_[i] = node;
  }
}

uint32_t FirefoxTables::stack(uint32_t stack) const {
  return stack == kNone ? unknown_stack_ : stacks_[stack];
}

uint32_t FirefoxTables::add_stack(uint32_t frame, uint32_t prefix) {
  stack_frame_.add(frame);
  stack_prefix_.add(unless(prefix, kNone));
  return stack_count_++;
}

uint32_t FirefoxTables::first_frame(uint32_t index) {
  if (frames_[index] != kNone) return frames_[index];
  frames_[index] = frame_count_;
  const profile::Location& location = profile_.locations[index];
  const FirefoxCategory category = categories_.of(location);
  const uint32_t lib = location.module == kNone ? kNone : library(location.module);
  const uint64_t image =
      location.module == kNone ? 0 : profile_.modules[location.module].svma_begin;
  const uint64_t address = location.address - std::min(image, location.address);
  const uint32_t outermost =
      location.line_count == 0
          ? kNone
          : profile_.lines[location.first_line + location.line_count - 1].function;
  uint32_t depth = std::max(location.line_count, 1u);
  profile::for_each_frame(profile_, index, [&](const profile::Frame& frame) {
    if (lib == kNone) {
      frame_address_.add_text("-1");
    } else {
      frame_address_.add(address);
    }
    frame_depth_.add(--depth);
    frame_category_.add(category.category);
    frame_subcategory_.add(category.subcategory);
    frame_function_.add(function(frame.function));
    if (lib == kNone || outermost == kNone) {
      frame_symbol_.add(std::nullopt);
    } else {
      frame_symbol_.add(native_symbol(outermost, lib, address));
    }
    frame_line_.add(unless(frame.line, 0));
    frame_column_.add(unless(frame.column, 0));
    ++frame_count_;
  });
  return frames_[index];
}

uint32_t FirefoxTables::function(uint32_t function) {
  const auto unknown = static_cast<uint32_t>(profile_.functions.size());
  const auto [index, is_new] = functions_.number(std::min(function, unknown));
  if (!is_new) return index;
  function_name_.add(string(profile::function_name(profile_, function)));
  const profile::Function known =
      function == kNone ? profile::Function{} : profile_.functions[function];
  if (known.module == kNone) {
    function_resource_.add_text("-1");
  } else {
    function_resource_.add(library(known.module));  // a resource for each library
  }
  function_source_.add(known.file == 0 ? std::nullopt
                                       : std::optional<uint64_t>(source(known.file)));
  function_line_.add(unless(known.line, 0));
  const bool is_python = function != kNone && kinds_[function] == FunctionKind::kPython;
  function_is_js_.add_text(is_python ? "true" : "false");
  has_python_ |= is_python;
  return index;
}

uint32_t FirefoxTables::library(uint32_t module) {
  const auto [index, is_new] = libraries_.number(module);
  if (is_new) resource_name_.add(string(profile::module_name(profile_, module)));
  return index;
}

// Symbols are not known, so there is one per function, at the address of its first frame.
uint32_t FirefoxTables::native_symbol(uint32_t function, uint32_t library, uint64_t address) {
  const auto [index, is_new] = native_symbols_.number(function);
  if (!is_new) return index;
  symbol_library_.add(library);
  symbol_address_.add(address);
  symbol_name_.add(string(profile::function_name(profile_, function)));
  return index;
}

uint32_t FirefoxTables::source(uint32_t file) {
  const auto [index, is_new] = sources_.number(file);
  if (is_new) source_name_.add(string(profile_.strings[file]));
  return index;
}

size_t FirefoxTables::string(std::string_view text) {
  const auto [index, is_new] = strings_.intern(text);
  if (is_new) string_text_.add_text(json_string(text));
  return index;
}

std::string FirefoxTables::libs_json() const {
  std::string text = "[";
  for (const uint32_t index : libraries_.used()) {
    const profile::Module& module = profile_.modules[index];
    const std::string name = json_string(profile::module_name(profile_, index));
    const std::string path = json_string(module.path);
    text += fmt::format(
        R"({}{{"arch":"{}","name":{},"path":{},"debugName":{},"debugPath":{},"breakpadId":"{}",)"
        R"("codeId":"{}"}})",
        text.size() == 1 ? "" : ",\n", kMachineName, name, path, name, path,
        breakpad_id(module.build_id), hex(module.build_id));
  }
  return text + "]";
}

uint64_t FirefoxTables::size() const {
  return stack_frame_.text().size() + stack_prefix_.text().size() + string_text_.text().size() +
         uint64_t{48} * (frame_count_ + functions_.used().size() + native_symbols_.used().size());
}

std::string FirefoxTables::json() const {
  const std::string nothing = "null";
  std::string text = "{";
  const auto table = [&](std::string_view name, size_t length,
                         std::initializer_list<std::pair<std::string_view, std::string>> columns) {
    text += fmt::format(R"("{}":{{)", name);
    for (const auto& [column_name, values] : columns) text += column(column_name, values);
    text += fmt::format("\"length\":{}}},\n", length);
  };
  table("stackTable", stack_count_,
        {{"frame", stack_frame_.text()}, {"prefix", stack_prefix_.text()}});
  table("frameTable", frame_count_,
        {{"address", frame_address_.text()},
         {"inlineDepth", frame_depth_.text()},
         {"category", frame_category_.text()},
         {"subcategory", frame_subcategory_.text()},
         {"func", frame_function_.text()},
         {"nativeSymbol", frame_symbol_.text()},
         {"innerWindowID", repeated("null", frame_count_)},
         {"line", frame_line_.text()},
         {"column", frame_column_.text()}});
  table("funcTable", functions_.used().size(),
        {{"name", function_name_.text()},
         {"isJS", function_is_js_.text()},
         {"relevantForJS", repeated("false", functions_.used().size())},
         {"resource", function_resource_.text()},
         {"source", function_source_.text()},
         {"lineNumber", function_line_.text()},
         {"columnNumber", repeated("null", functions_.used().size())}});
  constexpr std::string_view kLibraryResource = "1";
  const size_t libraries = libraries_.used().size();
  std::string indexes;
  for (size_t i = 0; i < libraries; ++i) indexes += (i == 0 ? "" : ",") + std::to_string(i);
  table("resourceTable", libraries,
        {{"lib", indexes},
         {"name", resource_name_.text()},
         {"host", repeated("null", libraries)},
         {"type", repeated(kLibraryResource, libraries)}});
  table("nativeSymbols", native_symbols_.used().size(),
        {{"libIndex", symbol_library_.text()},
         {"address", symbol_address_.text()},
         {"name", symbol_name_.text()},
         {"functionSize", repeated("null", native_symbols_.used().size())}});
  table("sources", sources_.used().size(),
        {{"id", repeated("null", sources_.used().size())}, {"filename", source_name_.text()}});
  return text + fmt::format(R"("stringArray":[{}]}})", string_text_.text());
}

}  // namespace sampan::exporters
