// What a client asks for over HTTP, and what it gets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sampler/file_descriptor.h"

namespace sampan::http {

struct Request {
  std::string method;
  std::string path;                                         // percent signs decoded
  std::map<std::string, std::string, std::less<>> query;    // the same; of several, the first
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;

  std::optional<std::string_view> parameter(std::string_view name) const;
  std::string_view header(std::string_view name) const;  // "" where it is not given
};

// Text, or an open file: of a large answer, which may be read slowly, nothing is in memory.
struct Body {
  std::string text = {};
  sampler::FileDescriptor file = {};
  uint64_t file_size = 0;

  uint64_t size() const { return file ? file_size : text.size(); }
};

struct Response {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::shared_ptr<const Body> body = nullptr;  // many clients may get the same one
};

// A line of text, with a newline behind it.
Response sentence(unsigned status, std::string_view text);
Response answer(std::string type, std::string text);
// The file's content; the file itself may be gone by the time that somebody reads it. Throws Error.
Response answer_with_file(std::string type, const std::string& path);

}  // namespace sampan::http
