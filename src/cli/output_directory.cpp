#include "cli/output_directory.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace sampan::cli {
namespace {

constexpr size_t kLongestName = 100;
constexpr int kMostOfASecond = 1000;

std::string safe(const std::string& program) {
  std::string name = program.substr(0, kLongestName);
  for (char& c : name) {
    if (c == '/' || static_cast<unsigned char>(c) <= ' ' || c == 0x7f) c = '_';
  }
  return name.empty() ? "program" : name;
}

std::string local_time() {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%d_%H-%M-%S", &parts);
  return text;
}

}  // namespace

OutputDirectory::OutputDirectory(const std::string& output, const std::string& program)
    : output_(output) {
  std::error_code error;
  created_output_ = std::filesystem::create_directories(output, error);
  if (error) throw Error("creating the output directory {}: {}", output, error.message());
  const std::string base = fmt::format("{}/{}_{}", output, local_time(), safe(program));
  path_ = base;
  for (int i = 2; mkdir(path_.c_str(), 0777) != 0; ++i) {
    if (errno != EEXIST || i > kMostOfASecond) {
      throw Error("creating {}: {}", path_, std::strerror(errno));
    }
    path_ = fmt::format("{}-{}", base, i);
  }
}

void OutputDirectory::remove() {
  std::error_code ignored;  // a rest that stays is a nuisance, no error
  std::filesystem::remove_all(path_, ignored);
  if (created_output_) std::filesystem::remove(output_, ignored);
}

}  // namespace sampan::cli
