// One request with one piece, and what its answer means.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "push/destination.h"
#include "push/piece.h"

namespace sampan::push {

// How the store knows us. Secrets are in no message and not in the spool.
struct Access {
  std::string token_file;  // sent as bearer; read for each request, because tokens are renewed
  std::string token_option = "--token-file";  // that names it
  std::vector<std::string> headers;           // "X-Scope-OrgID: team"
  std::string ca_file;                        // PEM; "": as curl's
};

struct Delivery {
  enum class Outcome {
    kArrived,
    kRefused,  // it would be again
    kLater,    // nobody answered, or asked to come again
  };
  Outcome outcome = Outcome::kLater;
  std::string why;             // unless it has arrived
  uint64_t retry_after_s = 0;  // 0: the server does not say
};

// `stopped` as http::Call's. Throws nothing: what fails on our side is kLater.
Delivery deliver(const Piece& piece, const Destination& destination, const Access& access,
                 const std::function<bool()>& stopped);

// What an answer means; of OTLP, one of 200 may say that it was refused all the same. `body` is
// what anybody may have written.
Delivery judged(Format format, long status, std::string_view body, uint64_t retry_after_s);

}  // namespace sampan::push
