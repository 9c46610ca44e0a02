// The store that profiles are pushed to: its address and format, and a request to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::push {

struct Piece;

enum class Format {
  kPyroscope,  // push API: /push.v1.PusherService/Push
  kIngest,     // Pyroscope's older /ingest
  kOtlp,       // OTLP over HTTP: /v1development/profiles
};

struct Destination {
  std::string url;  // with the format's path, without a query; may contain user and password
  Format format = Format::kPyroscope;
};

// "pyroscope", "ingest", "otlp".
const std::vector<std::string>& format_names();

// `format`: one of format_names(), or "" to derive it from the URL's path. A URL without the
// format's path gets it. Throws Error, naming `option`, if the URL is not http or https, or the
// format is unknown.
Destination destination(std::string_view option, std::string_view url, std::string_view format);

// A directory name for a store, format and tenant. `headers`: "X-Scope-OrgID: team". Secrets
// (password, Authorization) do not contribute.
std::string directory_name(const Destination& destination, const std::vector<std::string>& headers);

// How the store authenticates us. Secrets appear neither in messages nor in the spool.
struct Access {
  // sent as bearer token; read for each request, because tokens are renewed
  std::string token_file;
  std::string token_option = "--token-file";  // its name in messages
  std::vector<std::string> headers;           // "X-Scope-OrgID: team"
  std::string ca_file;                        // PEM; "": curl's default
};

struct Delivery {
  enum class Outcome {
    kArrived,
    kRefused,  // and would be refused again
    kLater,    // no response, or one that asks for a retry
  };
  Outcome outcome = Outcome::kLater;
  std::string why;             // empty if it has arrived
  uint64_t retry_after_s = 0;  // from Retry-After; 0: not given
};

// `stopped`: see http::Call. Does not throw: local failures are kLater.
Delivery deliver(const Piece& piece, const Destination& destination, const Access& access,
                 const std::function<bool()>& stopped);

// With OTLP, a response with status 200 can still reject profiles. `body` is not trusted.
Delivery delivery_of(Format format, long status, std::string_view body, uint64_t retry_after_s);

}  // namespace sampan::push
