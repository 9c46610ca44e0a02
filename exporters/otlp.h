// OTLP profiles: what an OpenTelemetry collector takes over HTTP, and a file of the same.
#pragma once

#include <string>
#include <vector>

#include "exporters/exporter.h"

namespace sampan::exporters {

// Of a resource, by the names of OpenTelemetry's semantic conventions: {"service.name", "redis"}.
struct ResourceAttribute {
  std::string key;
  std::string value;
};

// The program and the host, as far as the recording knows them.
std::vector<ResourceAttribute> usual_resource(const profile::Profile& profile);

// An ExportProfilesServiceRequest, which is a ProfilesData too. Each process has a resource of its
// own, with `resource`, but for its "process.*", and what is known of the process.
std::string otlp_message(const profile::View& view, const std::vector<ResourceAttribute>& resource);

}  // namespace sampan::exporters
