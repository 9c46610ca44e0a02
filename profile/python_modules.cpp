#include "profile/python_modules.h"

#include <algorithm>

#include "profile/function_kinds.h"

namespace sampan::profile {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The digits at the start of `text` are taken from it.
bool take_digits(std::string_view* text) {
  const auto end = std::ranges::find_if_not(*text, is_digit);
  const auto count = static_cast<size_t>(end - text->begin());
  text->remove_prefix(count);
  return count != 0;
}

// "python3.11", "pypy3.9", and "python311.zip": the folder of the standard library.
bool is_library(std::string_view folder) {
  const std::string_view name = folder.starts_with("pypy") ? "pypy" : "python";
  if (!folder.starts_with(name)) return false;
  folder.remove_prefix(name.size());
  if (!take_digits(&folder)) return false;
  if (folder == ".zip") return true;
  if (!folder.starts_with('.')) return false;
  folder.remove_prefix(1);
  return take_digits(&folder) && (folder.empty() || folder == "t");
}

// What follows the last folder in which Python looks for packages; "" if there is none.
std::string_view below_packages(std::string_view file) {
  for (size_t end = file.rfind('/'); end != file.npos && end != 0; end = file.rfind('/', end - 1)) {
    const size_t begin = file.rfind('/', end - 1) + 1;  // npos + 1 is 0
    const std::string_view folder = file.substr(begin, end - begin);
    if (folder == "site-packages" || folder == "dist-packages" || is_library(folder)) {
      return file.substr(end + 1);
    }
  }
  return "";
}

}  // namespace

std::string python_module(std::string_view file) {
  constexpr std::string_view kFrozen = "<frozen ", kSource = ".py", kPackage = "/__init__";
  if (file.starts_with(kFrozen) && file.ends_with('>')) {
    return std::string(file.substr(kFrozen.size(), file.size() - kFrozen.size() - 1));
  }
  std::string_view path = below_packages(file);
  if (!path.ends_with(kSource) || path.size() == kSource.size()) return std::string(file);
  path.remove_suffix(kSource.size());
  if (path.ends_with(kPackage)) path.remove_suffix(kPackage.size());
  std::string name(path);
  std::ranges::replace(name, '/', '.');
  return name;
}

std::vector<std::string> python_modules(const Profile& profile) {
  const std::vector<FunctionKind> kinds = function_kinds(profile);
  std::vector<std::string> modules(kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] != FunctionKind::kPython) continue;
    modules[i] = python_module(profile.strings[profile.functions[i].file]);
  }
  return modules;
}

}  // namespace sampan::profile
