#include "symbolizer/source_lines.h"

#include <filesystem>
#include <utility>

#include "symbolizer/demangle.h"

namespace sampan::symbolizer {

namespace {

// A leading "./" says that the compiler was told no directory; lexically_normal would drop it.
std::string normal_path(const std::string& text) {
  if (text.find("/.") == text.npos && text.find("//") == text.npos) return text;
  const std::string normal = std::filesystem::path(text).lexically_normal().string();
  return text.starts_with("./") && !normal.starts_with("..") ? "./" + normal : normal;
}

// libdw joins the directory of the line table, but leaves that relative to the compiler's. Where
// the latter is relative too ("./elf" in Debian's files), only its presence tells which was joined.
std::string full_path(const SourcePlace& place) {
  std::string file = place.file;
  if (file.starts_with('/') || place.directory == nullptr || *place.directory == '\0') return file;
  const std::string directory = std::string(place.directory) + "/";
  return file.starts_with(directory) ? file : directory + file;
}

}  // namespace

const SourceFunction* Names::add(SourceFunction function) {
  return &functions_.emplace_back(std::move(function));
}

const std::string* Names::file(const SourcePlace& place) {
  if (place.file == nullptr || *place.file == '\0') return nullptr;
  const std::string*& file = files_by_address_[place.file];
  if (file == nullptr) file = &files_.emplace_back(normal_path(full_path(place)));
  return file;
}

const std::string& Names::demangled(const char* mangled) {
  const auto [entry, is_new] = demangled_.try_emplace(mangled);
  if (is_new) entry->second = demangle(mangled);
  return entry->second;
}

}  // namespace sampan::symbolizer
