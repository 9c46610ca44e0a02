#include "support.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <random>

#include "symbolizer/elf_file.h"
#include "target.h"

namespace sampan::symbolizer::test {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = fs::temp_directory_path() / "sampan-symbolizer-XXXXXX";
  path_ = mkdtemp(pattern.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

namespace {

Dl_info target_info() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&target::inlined_call), &info);
  return info;
}

}  // namespace

std::string target_path() {
  return fs::canonical(target_info().dli_fname);
}

uint64_t target_svma(uint64_t avma) {
  return avma - reinterpret_cast<uint64_t>(target_info().dli_fbase);
}

uint64_t target_svma(const void* function) {
  return target_svma(reinterpret_cast<uint64_t>(function));
}

std::string run(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  char buffer[4096];
  for (size_t size; (size = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    output.append(buffer, size);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

std::vector<uint8_t> build_id_of(const std::string& path) {
  const ElfFile file(path);
  return {file.build_id().begin(), file.build_id().end()};
}

std::vector<uint64_t> addresses_in_text(const std::string& path, size_t count) {
  const ElfFile file(path);
  size_t names = 0;
  elf_getshdrstrndx(file.handle(), &names);
  std::vector<uint64_t> addresses;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.handle(), section)) != nullptr;) {
    GElf_Shdr header;
    gelf_getshdr(section, &header);
    if (std::string(elf_strptr(file.handle(), names, header.sh_name)) != ".text") continue;
    std::mt19937_64 random(1);
    while (addresses.size() < count) {
      addresses.push_back(header.sh_addr + random() % header.sh_size);
    }
  }
  return addresses;
}

profile::Profile profile_of(const std::string& path, const std::vector<uint64_t>& svmas,
                            const std::vector<uint8_t>& build_id) {
  profile::Profile profile;
  profile::Module module;
  module.path = path;
  module.build_id = build_id;
  profile.modules.push_back(module);
  for (const uint64_t svma : svmas) profile.locations.push_back({0, svma, 0, 0});
  return profile;
}

std::vector<Line> lines_of(const profile::Profile& profile, size_t index) {
  std::vector<Line> result;
  const profile::Location& location = profile.locations.at(index);
  for (uint32_t i = 0; i < location.line_count; ++i) {
    const profile::Line& line = profile.lines.at(location.first_line + i);
    const profile::Function& function = profile.functions.at(line.function);
    result.push_back({profile.strings[function.name], profile.strings[line.file], line.line});
  }
  return result;
}

std::string text_of(const profile::Profile& profile) {
  std::string text;
  for (size_t i = 0; i < profile.locations.size(); ++i) {
    text += fmt::format("{:#x}\n", profile.locations[i].address);
    for (const Line& line : lines_of(profile, i)) {
      text += fmt::format("  {} {}:{}\n", line.function, line.file, line.line);
    }
  }
  return text;
}

std::string name_at(const std::string& path, uint64_t svma) {
  profile::Profile profile = profile_of(path, {svma});
  symbolize(profile);
  const std::vector<Line> lines = lines_of(profile, 0);
  return lines.empty() ? "" : lines.back().function;
}

}  // namespace sampan::symbolizer::test
