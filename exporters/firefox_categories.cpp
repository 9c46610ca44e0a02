#include "exporters/firefox_categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "exporters/escaped_text.h"
#include "profile/frames.h"

namespace sampan::exporters {
namespace {

// The first grey category is for all other frames; the profiler takes transparent for idle.
enum Category : uint32_t {
  kOther,
  kProgram,
  kLibrary,
  kCpp,
  kC,
  kKernel,
  kPython,
  kWaiting,
  kRunnable,
};

struct Look {
  std::string_view name, color;
};
constexpr std::array kLooks = {
    Look{"Other", "grey"},          Look{"Program", "purple"},
    Look{"Library", "green"},       Look{"C++ runtime", "lightblue"},
    Look{"C library", "blue"},      Look{"Kernel", "orange"},
    Look{"Python", "yellow"},  // as the profiler has JavaScript
    Look{"Waiting", "transparent"}, Look{"Waiting for a CPU", "red"},
};

bool is_one_of(std::string_view file, std::initializer_list<std::string_view> libraries) {
  return std::any_of(libraries.begin(), libraries.end(), [&](std::string_view library) {
    return file.starts_with(library) && file.substr(library.size()).find_first_of(".-") == 0;
  });
}

Category group(const profile::Profile& profile, uint32_t module) {
  const std::string_view file = profile::module_name(profile, module);
  if (file.starts_with('[')) return kKernel;  // "[vdso]"
  if (is_one_of(file,
                {"libc", "libm", "ld", "ld-linux", "ld-musl", "libpthread", "libdl", "librt"})) {
    return kC;
  }
  if (is_one_of(file, {"libstdc++", "libgcc_s", "libc++", "libc++abi"})) return kCpp;
  const std::string& path = profile.modules[module].path;
  const bool is_program = std::any_of(profile.processes.begin(), profile.processes.end(),
                                      [&](const auto& process) { return process.path == path; });
  return is_program ? kProgram : kLibrary;
}

}  // namespace

FirefoxCategories::FirefoxCategories(const profile::Profile& profile)
    : profile_(profile), subcategories_(kLooks.size(), {"Other"}) {
  for (uint32_t module = 0; module < profile.modules.size(); ++module) {
    const Category category = group(profile, module);
    const uint32_t subcategory =
        add_subcategory(category, std::string(profile::module_name(profile, module)));
    by_module_.push_back({category, subcategory});
  }
}

uint32_t FirefoxCategories::add_subcategory(uint32_t category, std::string name) {
  std::vector<std::string>& names = subcategories_[category];
  const auto place = std::find(names.begin(), names.end(), name);
  const size_t index = place - names.begin();
  if (place == names.end()) names.push_back(std::move(name));
  return static_cast<uint32_t>(index);
}

FirefoxCategory FirefoxCategories::of(const profile::Location& location) const {
  if (location.wait != profile::kNone) {
    return {profile_.is_runnable(location.wait) ? kRunnable : kWaiting, 0};
  }
  if (profile::is_python(location)) return {kPython, 0};
  return location.module == profile::kNone ? FirefoxCategory{} : by_module_[location.module];
}

std::string FirefoxCategories::json() const {
  std::string text;
  for (size_t i = 0; i < kLooks.size(); ++i) {
    text += fmt::format(R"({}{{"name":"{}","color":"{}","subcategories":[)", i == 0 ? "[" : ",\n",
                        kLooks[i].name, kLooks[i].color);
    for (size_t j = 0; j < subcategories_[i].size(); ++j) {
      text += (j == 0 ? "" : ",") + json_string(subcategories_[i][j]);
    }
    text += "]}";
  }
  return text + "]";
}

}  // namespace sampan::exporters
