// The tables that all profiles of an OTLP message share. A row is known by its index, and gets one
// when it is first asked for: what no sample leads to is not there. Row 0 of each table is the
// empty one, which stands for "none".
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exporters/mapping_ranges.h"
#include "profile/profile.h"

namespace sampan::exporters {

class OtlpDictionary {
 public:
  explicit OtlpDictionary(const profile::Profile& profile);

  int32_t text(std::string_view text);
  int32_t attribute(std::string_view key, std::string_view value);
  int32_t attribute(std::string_view key, int64_t value);
  // kNone: one of a function "[unknown]".
  int32_t stack(uint32_t stack);

  // The dictionary as a field of the message.
  void write(protozero::pbf_writer* message) const;

 private:
  // Rows as fields of the dictionary, one behind the other, and each by what is in it.
  struct Table {
    std::string data;
    std::unordered_map<std::string, int32_t> rows;
  };
  // Enters a row, which write() writes the fields of, unless there is such a one.
  template <typename Write>
  int32_t add(Table* table, uint32_t field, Write&& write);
  int32_t add(Table* table, uint32_t field, std::string row);

  int32_t attribute_of(std::string_view key, const std::string& value);
  int32_t location(uint32_t index);
  int32_t unknown_location();
  int32_t function(uint32_t index);
  int32_t mapping(uint32_t module);

  const profile::Profile& profile_;
  const std::vector<MappingRange> ranges_;
  Table mappings_, locations_, functions_, links_, strings_, attributes_, stacks_;
  // By row of the profile; 0: not entered yet.
  std::vector<int32_t> mapping_rows_, location_rows_, function_rows_, stack_rows_;
  int32_t unknown_location_ = 0, unknown_function_ = 0, unknown_stack_ = 0;
};

// The fields of a common.v1.AnyValue.
std::string otlp_value(std::string_view text);
std::string otlp_value(int64_t number);

}  // namespace sampan::exporters
