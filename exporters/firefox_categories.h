// The categories of frames, which the Firefox Profiler colours and sums: code of the program, of
// groups of libraries, of the kernel, of Python, and waits. The module is the subcategory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::exporters {

struct FirefoxCategory {
  uint32_t category = 0;
  uint32_t subcategory = 0;
};

class FirefoxCategories {
 public:
  explicit FirefoxCategories(const profile::Profile& profile);

  FirefoxCategory of(const profile::Location& location) const;
  // The list of meta.categories.
  std::string json() const;

 private:
  uint32_t add_subcategory(uint32_t category, std::string name);

  const profile::Profile& profile_;
  std::vector<std::vector<std::string>> subcategories_;  // by category
  std::vector<FirefoxCategory> by_module_;
};

}  // namespace sampan::exporters
