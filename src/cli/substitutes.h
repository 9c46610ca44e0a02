// Files of a process that was looked at from outside, for the symbolizer: where to open those that
// their paths do not name. They can be opened while `hidden` lives.
#pragma once

#include <vector>

#include "attach/module_file.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {

inline std::vector<symbolizer::Substitute> substitutes(
    const std::vector<attach::HiddenFile>& hidden) {
  std::vector<symbolizer::Substitute> result;
  for (const attach::HiddenFile& file : hidden) {
    result.push_back({file.path, file.build_id, file.open_as()});
  }
  return result;
}

}  // namespace sampan::cli
