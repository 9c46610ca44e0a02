// OTLP profiles: the message that OpenTelemetry collectors receive over HTTP, and a file of it.
#pragma once

#include <string>
#include <vector>

#include "exporters/exporter.h"

namespace sampan::exporters {

// A resource's attribute, named by OpenTelemetry's semantic conventions: {"service.name", "redis"}.
struct ResourceAttribute {
  std::string key;
  std::string value;
};

// The program and the host, if the recording has them.
std::vector<ResourceAttribute> usual_resource(const profile::Profile& profile);

// An ExportProfilesServiceRequest, which is also a ProfilesData. Each process is a resource, with
// the attributes in `resource` except "process.*", and with its own "process.*".
std::string otlp_message(const profile::View& view, const std::vector<ResourceAttribute>& resource);

}  // namespace sampan::exporters
