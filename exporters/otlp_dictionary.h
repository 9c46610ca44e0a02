// The tables that all profiles of an OTLP message share. Rows are added when they are first asked
// for, so only rows that samples need are there. Row 0 of each table is empty and means "none".
#pragma once

#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.h"
#include "exporters/mapping_ranges.h"
#include "profile/profile.h"

namespace sampan::exporters {

class OtlpDictionary {
 public:
  explicit OtlpDictionary(const profile::Profile& profile);

  int32_t text(std::string_view text);
  int32_t attribute(std::string_view key, std::string_view value);
  int32_t attribute(std::string_view key, int64_t value);
  // To a span: the context's own, or that of its caller.
  int32_t link(const profile::TraceContext& context);
  // kNone: a stack of the function "[unknown]".
  int32_t stack(uint32_t stack);

  // The dictionary as a field of the message.
  void write(protozero::pbf_writer* message) const;

 private:
  // The encoded rows, each also as a field of the dictionary.
  struct Table {
    std::string data;
    Interner<std::string> rows;
  };
  // Adds a row, whose fields write() writes, unless there is an equal one.
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

// Field numbers of OpenTelemetry's profiles, package opentelemetry.proto.profiles.v1development in
// the layout of opentelemetry-proto 1.10 and 1.11 (the alpha of 2026), and of the messages that it
// uses from common.v1 and resource.v1. Earlier releases had other numbers.

namespace otlp_request {
inline constexpr uint32_t kResourceProfiles = 1, kDictionary = 2;
}
namespace otlp_dictionary {
inline constexpr uint32_t kMappings = 1, kLocations = 2, kFunctions = 3, kLinks = 4, kStrings = 5,
                          kAttributes = 6, kStacks = 7;
}
namespace otlp_resource_profiles {
inline constexpr uint32_t kResource = 1, kScopeProfiles = 2;
}
namespace otlp_resource {
inline constexpr uint32_t kAttributes = 1;
}
namespace otlp_key_value {
inline constexpr uint32_t kKey = 1, kValue = 2;
}
namespace otlp_any_value {
inline constexpr uint32_t kString = 1, kInteger = 3;
}
namespace otlp_scope_profiles {
inline constexpr uint32_t kScope = 1, kProfiles = 2;
}
namespace otlp_scope {
inline constexpr uint32_t kName = 1, kVersion = 2;
}
namespace otlp_profile {
inline constexpr uint32_t kSampleType = 1, kSamples = 2, kTime = 3, kDuration = 4, kPeriodType = 5,
                          kPeriod = 6, kId = 7;
}
namespace otlp_value_type {
inline constexpr uint32_t kType = 1, kUnit = 2;
}
namespace otlp_sample {
inline constexpr uint32_t kStack = 1, kAttributes = 2, kLink = 3, kValues = 4;
}
namespace otlp_stack {
inline constexpr uint32_t kLocations = 1;
}
namespace otlp_location {
inline constexpr uint32_t kMapping = 1, kAddress = 2, kLines = 3, kAttributes = 4;
}
namespace otlp_line {
inline constexpr uint32_t kFunction = 1, kLine = 2, kColumn = 3;
}
namespace otlp_function {
inline constexpr uint32_t kName = 1, kFile = 3, kStartLine = 4;
}
namespace otlp_mapping {
inline constexpr uint32_t kMemoryStart = 1, kMemoryLimit = 2, kFile = 4, kAttributes = 5;
}
namespace otlp_link {
inline constexpr uint32_t kTrace = 1, kSpan = 2;
}
namespace otlp_attribute {
inline constexpr uint32_t kKey = 1, kValue = 2;
}

}  // namespace sampan::exporters
