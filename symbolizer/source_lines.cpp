#include "symbolizer/source_lines.h"

#include <algorithm>
#include <filesystem>

#include "symbolizer/demangle.h"

namespace sampan::symbolizer {

namespace {

// A leading "./" means that the compiler was given no directory; lexically_normal would drop it.
std::string normal_path(const std::string& text) {
  if (text.find("/.") == text.npos && text.find("//") == text.npos) return text;
  const std::string normal = std::filesystem::path(text).lexically_normal().string();
  return text.starts_with("./") && !normal.starts_with("..") ? "./" + normal : normal;
}

}  // namespace

const SourceLines* LinesByAddress::find(uint64_t svma) const {
  const auto found = std::ranges::lower_bound(svmas_, svma);
  if (found == svmas_.end() || *found != svma) return nullptr;
  return &lines_[static_cast<size_t>(found - svmas_.begin())];
}

SourceLines* LinesByAddress::find(uint64_t svma) {
  return const_cast<SourceLines*>(std::as_const(*this).find(svma));
}

const SourceFunction* Names::add(SourceFunction function) {
  return &functions_.emplace_back(std::move(function));
}

const std::string* Names::file(const std::string& path) {
  return path.empty() ? nullptr : &*files_.insert(normal_path(path)).first;
}

const std::string& Names::demangled(const char* mangled) {
  const auto [entry, is_new] = demangled_.try_emplace(mangled);
  if (is_new) entry->second = demangled_copy(mangled);
  return entry->second;
}

std::string Names::demangled_copy(const std::string& mangled) const {
  return linkage_names_ ? mangled : demangle(mangled.c_str());
}

}  // namespace sampan::symbolizer
