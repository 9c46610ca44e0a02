#include "push/delivery.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <protozero/pbf_reader.hpp>

#include "base/utf8.h"
#include "http/client.h"
#include "sampler/control_token.h"

namespace sampan::push {
namespace {

constexpr size_t kMostAnswer = size_t{1} << 20;
constexpr size_t kSlowest = 16;  // bytes a millisecond: so slow a network is borne
constexpr size_t kMostQuoted = 200;
constexpr long kRequestTimeout = 408, kTooManyRequests = 429;

// The beginning of what a server says, as one line of text.
std::string quoted(std::string_view body) {
  std::string text = valid_utf8(body.substr(0, kMostQuoted));
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text.empty() ? "" : ": " + text;
}

// ExportProfilesServiceResponse of OTLP: partial_success = 1 { rejected_profiles = 1,
// error_message = 2 }. Nothing: all was taken, or the answer is no such message.
std::optional<std::string> rejection(std::string_view body) {
  std::optional<std::string> why;
  try {
    protozero::pbf_reader response(body.data(), body.size());
    while (response.next(1, protozero::pbf_wire_type::length_delimited)) {
      protozero::pbf_reader partial = response.get_message();
      int64_t rejected = 0;
      std::string message;
      while (partial.next()) {
        switch (partial.tag_and_type()) {
          case tag_and_type(1, protozero::pbf_wire_type::varint):
            rejected = partial.get_int64();
            break;
          case tag_and_type(2, protozero::pbf_wire_type::length_delimited):
            message = partial.get_string();
            break;
          default: partial.skip();
        }
      }
      if (rejected > 0) why = fmt::format("{} profiles were rejected{}", rejected, quoted(message));
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return why;
}

}  // namespace

Delivery judged(Format format, long status, std::string_view body, uint64_t retry_after_s) {
  using Outcome = Delivery::Outcome;
  if (status >= 200 && status < 300) {
    const std::optional<std::string> rejected =
        format == Format::kOtlp ? rejection(body) : std::nullopt;
    if (rejected) return {Outcome::kRefused, *rejected};
    return {Outcome::kArrived, ""};
  }
  const std::string why = fmt::format("status {}{}", status, quoted(body));
  if (status >= 300 && status < 400) return {Outcome::kRefused, why + " (an address elsewhere)"};
  if (status >= 400 && status < 500 && status != kRequestTimeout && status != kTooManyRequests) {
    return {Outcome::kRefused, why};
  }
  return {Outcome::kLater, why, retry_after_s};
}

Delivery deliver(const Piece& piece, const Destination& destination, const Access& access,
                 const std::function<bool()>& stopped) {
  try {
    http::Call call{.url = destination.url, .method = "POST", .headers = access.headers};
    if (!piece.query.empty()) call.url += "?" + piece.query;
    call.headers.push_back("Content-Type: " + piece.type);
    if (!piece.encoding.empty()) call.headers.push_back("Content-Encoding: " + piece.encoding);
    // Of draft-ietf-httpapi-idempotency-key-header: the same when it is sent again.
    call.headers.push_back("Idempotency-Key: \"" + piece.id + "\"");
    if (destination.format == Format::kPyroscope) {
      call.headers.emplace_back("Connect-Protocol-Version: 1");
    }
    call.headers.emplace_back("Expect:");  // curl would wait for leave to send
    if (!access.token_file.empty()) {
      call.bearer_token = sampler::read_token(access.token_file, access.token_option);
    }
    call.body = piece.body;
    call.most_bytes = kMostAnswer;
    call.whole_ms += static_cast<long>(piece.body.size() / kSlowest);
    call.ca_file = access.ca_file;
    call.stopped = stopped;
    const http::Answer answer = http::fetch(call);
    Delivery delivery =
        judged(destination.format, answer.status, answer.body, answer.retry_after_s);
    if (!delivery.why.empty()) delivery.why = http::shown(destination.url) + ": " + delivery.why;
    return delivery;
  } catch (const std::exception& error) {
    return {Delivery::Outcome::kLater, error.what()};
  }
}

}  // namespace sampan::push
