// Field numbers of OpenTelemetry's profiles, package opentelemetry.proto.profiles.v1development in
// the layout of opentelemetry-proto 1.10 and 1.11 (the alpha of 2026), and of what it uses of
// common.v1 and resource.v1. Earlier releases had other numbers.
#pragma once

#include <cstdint>

namespace sampan::exporters {

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
inline constexpr uint32_t kStack = 1, kAttributes = 2, kValues = 4;
}
namespace otlp_stack {
inline constexpr uint32_t kLocations = 1;
}
namespace otlp_location {
inline constexpr uint32_t kMapping = 1, kAddress = 2, kLines = 3, kAttributes = 4;
}
namespace otlp_line {
inline constexpr uint32_t kFunction = 1, kLine = 2;
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
