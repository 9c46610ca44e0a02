// Shared by the symbolizer's tests: the target library, copies of it changed with binutils, and
// profiles made of addresses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "symbolizer/symbolizer.h"

namespace sampan::symbolizer::test {

// Removed with its content in the destructor.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// The file of the target library, and the SVMA in it of an AVMA in this process.
std::string target_path();
uint64_t target_svma(uint64_t avma);
uint64_t target_svma(const void* function);

// Runs a shell command; the test fails if the command does. Returns its standard output.
std::string run(const std::string& command);

std::vector<uint8_t> build_id_of(const std::string& path);
// `count` addresses in .text, the same in every run.
std::vector<uint64_t> addresses_in_text(const std::string& path, size_t count);

profile::Profile profile_of(const std::string& path, const std::vector<uint64_t>& svmas,
                            const std::vector<uint8_t>& build_id = {});

struct Line {
  std::string function, file;
  uint32_t line = 0;
  friend bool operator==(const Line&, const Line&) = default;
};
std::vector<Line> lines_of(const profile::Profile& profile, size_t location);
// All locations as text, for comparisons of whole profiles.
std::string text_of(const profile::Profile& profile);

// The name of the outermost function at an address of a file.
std::string name_at(const std::string& path, uint64_t svma);

}  // namespace sampan::symbolizer::test
