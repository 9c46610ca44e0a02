#include "remote/http/message.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace sampan::http {

std::optional<std::string_view> Request::parameter(std::string_view name) const {
  const auto found = query.find(name);
  return found != query.end() ? std::optional<std::string_view>(found->second) : std::nullopt;
}

std::string_view Request::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found != headers.end() ? std::string_view(found->second) : "";
}

Response answer(std::string type, std::string text) {
  Response response;
  response.type = std::move(type);
  response.body = std::make_shared<const Body>(Body{.text = std::move(text)});
  return response;
}

Response sentence(unsigned status, std::string_view text) {
  Response response = answer("text/plain; charset=utf-8", std::string(text) + "\n");
  response.status = status;
  return response;
}

Response answer_with_file(std::string type, const std::string& path) {
  Body body{.file = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC))};
  struct stat status {};
  if (!body.file || fstat(body.file.get(), &status) != 0) {
    throw Error("opening {}: {}", path, std::strerror(errno));
  }
  body.file_size = static_cast<uint64_t>(status.st_size);
  Response response;
  response.type = std::move(type);
  response.body = std::make_shared<const Body>(std::move(body));
  return response;
}

}  // namespace sampan::http
