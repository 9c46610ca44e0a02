#include "remote/push/store.h"

#include <fmt/core.h>
#include <strings.h>
#include <xxhash.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <protozero/pbf_reader.hpp>

#include "base/error.h"
#include "base/safe_file_name.h"
#include "base/token_file.h"
#include "base/utf8.h"
#include "remote/http/client.h"
#include "remote/push/piece.h"

namespace sampan::push {
namespace {

struct Known {
  Format format;
  const char* name;
  std::string_view path;
};
constexpr Known kKnown[] = {
    {Format::kPyroscope, "pyroscope", "/push.v1.PusherService/Push"},
    {Format::kIngest, "ingest", "/ingest"},
    {Format::kOtlp, "otlp", "/v1development/profiles"},
};

const Known& of(Format format) {
  return *std::ranges::find_if(kKnown, [&](const Known& one) { return one.format == format; });
}

// The user in "https://user:password@host/", or "".
std::string_view user_of(std::string_view url) {
  const size_t host = url.find("://") + 3;
  const std::string_view authority = url.substr(host, url.find('/', host) - host);
  const size_t at = authority.rfind('@');
  if (at == authority.npos) return {};
  return authority.substr(0, std::min(at, authority.find(':')));
}

bool is_secret(const std::string& header) {
  constexpr std::string_view kAuthorization = "authorization:";
  return strncasecmp(header.c_str(), kAuthorization.data(), kAuthorization.size()) == 0;
}

constexpr size_t kMaxAnswer = size_t{1} << 20;
constexpr size_t kSlowest = 16;  // bytes per millisecond: the slowest network that is tolerated
constexpr size_t kMaxQuoted = 200;
constexpr long kRequestTimeout = 408, kTooManyRequests = 429;

// The begin of a server's message, as one line of text.
std::string quote(std::string_view body) {
  std::string text = valid_utf8(body.substr(0, kMaxQuoted));
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text.empty() ? "" : ": " + text;
}

// Reads ExportProfilesServiceResponse of OTLP: partial_success = 1 { rejected_profiles = 1,
// error_message = 2 }. Returns nothing if everything was accepted, or this is not such a message.
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
      if (rejected > 0) why = fmt::format("{} profiles were rejected{}", rejected, quote(message));
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return why;
}

}  // namespace

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Known& known : kKnown) result.emplace_back(known.name);
    return result;
  }();
  return names;
}

Destination destination(std::string_view option, std::string_view url, std::string_view format) {
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  const size_t host = url.find("://") + 3;
  if (!is_http || url.size() == host || url.find_first_of(" \t\r\n") != url.npos) {
    throw Error("{} {}: must be an address such as http://HOST:4040", option,
                http::printable_url(url));
  }
  if (url.find_first_of("?#") != url.npos) {
    throw Error("{} {}: must be an address without a query; use --label for labels", option,
                http::printable_url(url));
  }
  std::string text(url);
  while (text.size() > host && text.ends_with('/')) text.pop_back();
  for (const Known& known : kKnown) {
    const bool has_path = text.ends_with(known.path);
    if (format.empty() ? has_path : format == known.name) {
      return {has_path ? text : text + std::string(known.path), known.format};
    }
  }
  std::string names, paths;
  for (const Known& known : kKnown) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
    paths += (paths.empty() ? "" : ", ") + std::string(known.path);
  }
  throw Error("{} {}: which format? choose one of {}, or use the whole path: {}", option,
              http::printable_url(url), names, paths);
}

std::string directory_name(const Destination& destination,
                           const std::vector<std::string>& headers) {
  const std::string url = http::printable_url(destination.url);
  std::string identity = url + "\n" + std::string(user_of(destination.url));
  std::vector<std::string> sorted;
  std::ranges::copy_if(headers, std::back_inserter(sorted), std::not_fn(is_secret));
  std::ranges::sort(sorted);
  for (const std::string& header : sorted) identity += "\n" + header;
  const size_t host = url.find("://") + 3;
  return safe_file_name(fmt::format("{}-{}-{:08x}", of(destination.format).name,
                                    url.substr(host, url.find('/', host) - host),
                                    XXH3_64bits(identity.data(), identity.size()) >> 32));
}

Delivery delivery_of(Format format, long status, std::string_view body, uint64_t retry_after_s) {
  using Outcome = Delivery::Outcome;
  if (status >= 200 && status < 300) {
    const std::optional<std::string> rejected =
        format == Format::kOtlp ? rejection(body) : std::nullopt;
    if (rejected) return {Outcome::kRefused, *rejected};
    return {Outcome::kArrived, ""};
  }
  const std::string why = fmt::format("status {}{}", status, quote(body));
  if (status >= 300 && status < 400) return {Outcome::kRefused, why + " (a redirect)"};
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
    // draft-ietf-httpapi-idempotency-key-header: the same value in each attempt.
    call.headers.push_back("Idempotency-Key: \"" + piece.id + "\"");
    if (destination.format == Format::kPyroscope) {
      call.headers.emplace_back("Connect-Protocol-Version: 1");
    }
    call.headers.emplace_back("Expect:");  // otherwise curl would wait for permission to send
    if (!access.token_file.empty()) {
      call.bearer_token = read_token(access.token_file, access.token_option);
    }
    call.body = piece.body;
    call.most_bytes = kMaxAnswer;
    call.whole_ms += static_cast<long>(piece.body.size() / kSlowest);
    call.ca_file = access.ca_file;
    call.stopped = stopped;
    const http::Answer answer = http::fetch(call);
    Delivery delivery =
        delivery_of(destination.format, answer.status, answer.body, answer.retry_after_s);
    if (!delivery.why.empty())
      delivery.why = http::printable_url(destination.url) + ": " + delivery.why;
    return delivery;
  } catch (const std::exception& error) {
    return {Delivery::Outcome::kLater, error.what()};
  }
}

}  // namespace sampan::push
