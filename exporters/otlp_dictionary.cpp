#include "exporters/otlp_dictionary.h"

#include <utility>

#include "base/utf8.h"
#include "exporters/mapping_ranges.h"
#include "profile/frames.h"

namespace sampan::exporters {
namespace {

using profile::kNone;
using protozero::pbf_writer;

}  // namespace

std::string otlp_value(std::string_view text) {
  std::string data;
  pbf_writer(data).add_string(otlp_any_value::kString, valid_utf8(text));
  return data;
}

std::string otlp_value(int64_t number) {
  std::string data;
  pbf_writer(data).add_int64(otlp_any_value::kInteger, number);
  return data;
}

OtlpDictionary::OtlpDictionary(const profile::Profile& profile)
    : profile_(profile),
      ranges_(mapping_ranges(profile)),
      mapping_rows_(profile.modules.size()),
      location_rows_(profile.locations.size()),
      function_rows_(profile.functions.size()),
      stack_rows_(profile.stacks.size()) {
  const auto nothing = [](pbf_writer&) {};
  add(&mappings_, otlp_dictionary::kMappings, nothing);
  add(&locations_, otlp_dictionary::kLocations, nothing);
  add(&functions_, otlp_dictionary::kFunctions, nothing);
  add(&attributes_, otlp_dictionary::kAttributes, nothing);
  add(&stacks_, otlp_dictionary::kStacks, nothing);
  link({});
  text("");
}

template <typename Write>
int32_t OtlpDictionary::add(Table* table, uint32_t field, Write&& write) {
  std::string data;
  pbf_writer row(data);
  write(row);
  return add(table, field, std::move(data));
}

int32_t OtlpDictionary::add(Table* table, uint32_t field, std::string row) {
  const auto [index, is_new] = table->rows.intern(std::move(row));
  if (is_new) pbf_writer(table->data).add_message(field, table->rows[index]);
  return static_cast<int32_t>(index);
}

// Strings are encoded like messages.
int32_t OtlpDictionary::text(std::string_view text) {
  return add(&strings_, otlp_dictionary::kStrings, valid_utf8(text));
}

int32_t OtlpDictionary::attribute(std::string_view key, std::string_view value) {
  return attribute_of(key, otlp_value(value));
}

int32_t OtlpDictionary::attribute(std::string_view key, int64_t value) {
  return attribute_of(key, otlp_value(value));
}

int32_t OtlpDictionary::attribute_of(std::string_view key, const std::string& value) {
  const int32_t name = text(key);
  return add(&attributes_, otlp_dictionary::kAttributes, [&](pbf_writer& row) {
    row.add_int32(otlp_attribute::kKey, name);
    row.add_message(otlp_attribute::kValue, value);
  });
}

int32_t OtlpDictionary::link(const profile::TraceContext& context) {
  const auto add_id = [](pbf_writer& row, uint32_t field, const auto& id) {
    row.add_bytes(field, reinterpret_cast<const char*>(id.data()), id.size());
  };
  return add(&links_, otlp_dictionary::kLinks, [&](pbf_writer& row) {
    add_id(row, otlp_link::kTrace, context.trace_id);
    add_id(row, otlp_link::kSpan,
           context.span_id != wire::SpanId{} ? context.span_id : context.parent_id);
  });
}

int32_t OtlpDictionary::stack(uint32_t stack) {
  int32_t& known = stack == kNone ? unknown_stack_ : stack_rows_[stack];
  if (known != 0) return known;
  std::vector<int32_t> locations;  // leaf first
  for (uint32_t i = stack; i != kNone; i = profile_.stacks[i].prefix) {
    locations.push_back(location(profile_.stacks[i].location));
  }
  if (locations.empty()) locations.push_back(unknown_location());
  known = add(&stacks_, otlp_dictionary::kStacks, [&](pbf_writer& row) {
    row.add_packed_int32(otlp_stack::kLocations, locations.begin(), locations.end());
  });
  return known;
}

int32_t OtlpDictionary::location(uint32_t index) {
  if (location_rows_[index] != 0) return location_rows_[index];
  const profile::Location& place = profile_.locations[index];
  const int32_t mapped = place.module == kNone ? 0 : mapping(place.module);
  const uint64_t base = place.module == kNone ? 0 : ranges_[place.module].base;
  const bool is_python = profile::is_python(place), is_code = place.wait == kNone;
  const std::string_view type_name = is_python ? "cpython" : "native";
  const int32_t type = is_code ? attribute("profile.frame.type", type_name) : 0;
  std::vector<std::string> lines;
  profile::for_each_frame(profile_, index, [&](const profile::Frame& frame) {
    pbf_writer line(lines.emplace_back());
    line.add_int32(otlp_line::kFunction, function(frame.function));
    if (frame.line != 0) line.add_int64(otlp_line::kLine, frame.line);
    if (frame.column != 0) line.add_int64(otlp_line::kColumn, frame.column);
  });
  location_rows_[index] = add(&locations_, otlp_dictionary::kLocations, [&](pbf_writer& row) {
    if (mapped != 0) row.add_int32(otlp_location::kMapping, mapped);
    if (is_code && !is_python) row.add_uint64(otlp_location::kAddress, base + place.address);
    for (const std::string& line : lines) row.add_message(otlp_location::kLines, line);
    if (type != 0) row.add_packed_int32(otlp_location::kAttributes, &type, &type + 1);
  });
  return location_rows_[index];
}

int32_t OtlpDictionary::unknown_location() {
  if (unknown_location_ != 0) return unknown_location_;
  std::string line;
  pbf_writer(line).add_int32(otlp_line::kFunction, function(kNone));
  return unknown_location_ = add(&locations_, otlp_dictionary::kLocations, [&](pbf_writer& row) {
           row.add_message(otlp_location::kLines, line);
         });
}

int32_t OtlpDictionary::function(uint32_t index) {
  int32_t& known = index == kNone ? unknown_function_ : function_rows_[index];
  if (known != 0) return known;
  const profile::Function row = index == kNone ? profile::Function() : profile_.functions[index];
  const int32_t name = text(profile::function_name(profile_, index));
  const int32_t file = text(profile_.strings[row.file]);
  return known = add(&functions_, otlp_dictionary::kFunctions, [&](pbf_writer& function) {
           function.add_int32(otlp_function::kName, name);
           if (file != 0) function.add_int32(otlp_function::kFile, file);
           if (row.line != 0) function.add_int64(otlp_function::kStartLine, row.line);
         });
}

int32_t OtlpDictionary::mapping(uint32_t module) {
  if (mapping_rows_[module] != 0) return mapping_rows_[module];
  const profile::Module& file = profile_.modules[module];
  const int32_t name = text(file.path);
  const int32_t build_id = file.build_id.empty() ? 0
                                                 : attribute("process.executable.build_id.gnu",
                                                             build_id_text(file.build_id));
  return mapping_rows_[module] = add(&mappings_, otlp_dictionary::kMappings, [&](pbf_writer& row) {
           row.add_uint64(otlp_mapping::kMemoryStart, ranges_[module].begin);
           row.add_uint64(otlp_mapping::kMemoryLimit, ranges_[module].end);
           row.add_int32(otlp_mapping::kFile, name);
           if (build_id != 0) {
             row.add_packed_int32(otlp_mapping::kAttributes, &build_id, &build_id + 1);
           }
         });
}

void OtlpDictionary::write(pbf_writer* message) const {
  std::string tables;
  for (const Table* table :
       {&mappings_, &locations_, &functions_, &links_, &strings_, &attributes_, &stacks_}) {
    tables += table->data;
  }
  message->add_message(otlp_request::kDictionary, tables);
}

}  // namespace sampan::exporters
