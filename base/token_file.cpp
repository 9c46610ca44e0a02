#include "base/token_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace sampan {
namespace {

constexpr size_t kLongest = 4096;
constexpr const char* kSpace = " \t\r\n";

}  // namespace

std::string read_control_token() {
  const char* variable = std::getenv("SAMPAN_TOKEN_FILE");
  const std::string path = variable != nullptr ? variable : "";
  return path.empty() ? "" : read_token(path, "SAMPAN_TOKEN_FILE");
}

std::string read_token(const std::string& path, std::string_view named_by) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    throw Error("{}: opening {}: {}", named_by, path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) throw Error("{}: {} is not a file", named_by, path);
  if ((status.st_mode & 077) != 0) {
    throw Error("{}: others may use {}: chmod 600 {}", named_by, path, path);
  }
  std::string text(kLongest + 1, '\0');
  const ssize_t size = read(file.get(), text.data(), text.size());
  if (size < 0) throw Error("{}: reading {}: {}", named_by, path, std::strerror(errno));
  text.resize(static_cast<size_t>(size));
  text.erase(text.find_last_not_of(kSpace) + 1);
  text.erase(0, text.find_first_not_of(kSpace));
  if (text.empty()) throw Error("{}: {} is empty", named_by, path);
  if (text.size() > kLongest) {
    throw Error("{}: {} has more than {} bytes", named_by, path, kLongest);
  }
  return text;
}

bool same_token(std::string_view token, std::string_view given) {
  size_t differences = token.size() ^ given.size();
  for (size_t i = 0; i < given.size() && !token.empty(); ++i) {
    differences |= static_cast<uint8_t>(token[i % token.size()] ^ given[i]);
  }
  return differences == 0;
}

}  // namespace sampan
