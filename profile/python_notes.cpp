#include "profile/python_notes.h"

#include <fmt/core.h>

#include <charconv>
#include <set>

#include "profile/frames.h"
#include "wire/loss.h"

namespace sampan::profile {
namespace {

constexpr int kOldestMinor = 9, kNewestMinor = 14;  // of the table in unwind/python_layout.h

}  // namespace

std::string unknown_python(std::string_view path) {
  std::string_view name = file_name(path);
  if (name.starts_with("lib")) name.remove_prefix(3);
  if (name.starts_with("pypy")) return "PyPy";
  constexpr std::string_view kPython = "python";
  if (!name.starts_with(kPython)) return "";
  name.remove_prefix(kPython.size());
  int major = 0, minor = 0;
  const char* const end = name.data() + name.size();
  const auto dot = std::from_chars(name.data(), end, major);
  if (dot.ec != std::errc() || dot.ptr == end || *dot.ptr != '.') return "";
  const auto rest = std::from_chars(dot.ptr + 1, end, minor);
  if (rest.ec != std::errc()) return "";
  const bool free_threaded = rest.ptr != end && *rest.ptr == 't';
  if (major == 3 && minor >= kOldestMinor && minor <= kNewestMinor && !free_threaded) return "";
  return fmt::format("{}Python {}.{}", free_threaded ? "free-threaded " : "", major, minor);
}

std::vector<std::string> python_notes(const Profile& profile) {
  std::set<std::string> unknown;
  for (const Module& module : profile.modules) {
    if (std::string name = unknown_python(module.path); !name.empty()) unknown.insert(name);
  }
  const auto counted = static_cast<size_t>(wire::Loss::kPythonUnknown);
  if (unknown.empty() && counted < profile.losses.size() && profile.losses[counted] != 0) {
    unknown.insert("this build of Python");
  }
  std::vector<std::string> notes;
  for (const std::string& name : unknown) {
    notes.push_back(
        fmt::format("sampan does not know {}: its stacks are native, without the "
                    "functions of the Python program",
                    name));
  }
  return notes;
}

}  // namespace sampan::profile
