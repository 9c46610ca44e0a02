#include "serve/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace sampan::serve {

TemporaryDirectory::TemporaryDirectory() {
  const char* const base = std::getenv("TMPDIR");
  path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/sampan-serve-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) throw Error("creating {}: {}", path_, std::strerror(errno));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sampan::serve
