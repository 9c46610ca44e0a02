// Where profiles are pushed to, and in which of the formats of stores.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sampan::push {

enum class Format {
  kPyroscope,  // push API: /push.v1.PusherService/Push
  kIngest,     // Pyroscope's older /ingest
  kOtlp,       // OTLP over HTTP: /v1development/profiles
};

struct Destination {
  std::string url;  // with the path of the format, without a query; may hold a user and password
  Format format = Format::kPyroscope;
};

// "pyroscope", "ingest", "otlp".
const std::vector<std::string>& format_names();

// `format`: one of those, or "": what the URL's path says. An URL without that path gets it. Throws
// Error, naming `option`, for what is no http or https URL, or does not say which format.
Destination destination(std::string_view option, std::string_view url, std::string_view format);

// The same for the same store, format and tenant, as long as they are that; for a directory.
// `headers`: "X-Scope-OrgID: team". What are secrets, password and Authorization, is left out.
std::string directory_name(const Destination& destination, const std::vector<std::string>& headers);

}  // namespace sampan::push
