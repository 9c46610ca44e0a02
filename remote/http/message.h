// An HTTP request and its answer.
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

#include "base/file_descriptor.h"

namespace sampan::http {

struct Request {
  std::string method;
  std::string path;  // percent-decoded
  // percent-decoded; the first value of each name
  std::map<std::string, std::string, std::less<>> query;
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;

  std::optional<std::string_view> parameter(std::string_view name) const;
  std::string_view header(std::string_view name) const;  // "" if missing
};

// Text or an open file: large answers, which may be read slowly, are not held in memory.
struct Body {
  std::string text = {};
  FileDescriptor file = {};
  uint64_t file_size = 0;

  uint64_t size() const { return file ? file_size : text.size(); }
};

struct Response {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::shared_ptr<const Body> body = nullptr;  // may be shared by many clients
};

// Plain text: one line, to which a newline is added.
Response sentence(unsigned status, std::string_view text);
Response answer(std::string type, std::string text);
// The content of a file, which may be deleted afterwards. Throws Error.
Response answer_with_file(std::string type, const std::string& path);

}  // namespace sampan::http
