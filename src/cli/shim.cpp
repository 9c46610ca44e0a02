#include "cli/shim.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/error.h"

namespace sampan::cli {
namespace {

constexpr const char* kShim = "libsampan_preload.so";

}  // namespace

std::string find_shim() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path libraries = here.parent_path() / "lib";
  std::vector<fs::path> places = {here, libraries / "sampan"};
  for (const auto& entry : fs::directory_iterator(libraries, error)) {
    places.push_back(entry.path() / "sampan");  // lib/x86_64-linux-gnu/sampan
  }
  for (const fs::path& place : places) {
    if (access((place / kShim).c_str(), R_OK) == 0) return place / kShim;
  }
  throw Error("{} was found neither in {} nor in {}: build or install sampan whole", kShim,
              here.string(), (libraries / "sampan").string());
}

}  // namespace sampan::cli
