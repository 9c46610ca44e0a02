#include "push/destination.h"

#include <fmt/core.h>
#include <strings.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/safe_file_name.h"
#include "http/client.h"

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

// The user of "https://user:password@host/", or "".
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
    throw Error("{} {}: give it an address as http://HOST:4040", option, http::shown(url));
  }
  if (url.find_first_of("?#") != url.npos) {
    throw Error("{} {}: an address without a query: labels are given by --label", option,
                http::shown(url));
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
  throw Error("{} {}: which format? name one of {}, or the whole path: {}", option,
              http::shown(url), names, paths);
}

std::string directory_name(const Destination& destination,
                           const std::vector<std::string>& headers) {
  const std::string shown = http::shown(destination.url);
  std::string identity = shown + "\n" + std::string(user_of(destination.url));
  std::vector<std::string> sorted;
  std::ranges::copy_if(headers, std::back_inserter(sorted), std::not_fn(is_secret));
  std::ranges::sort(sorted);
  for (const std::string& header : sorted) identity += "\n" + header;
  const size_t host = shown.find("://") + 3;
  return safe_file_name(fmt::format("{}-{}-{:08x}", of(destination.format).name,
                                    shown.substr(host, shown.find('/', host) - host),
                                    XXH3_64bits(identity.data(), identity.size()) >> 32));
}

}  // namespace sampan::push
