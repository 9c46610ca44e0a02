// The page of profile.html without its data: src/viewer, made one text by the build.
#pragma once

#include <string_view>

namespace sampan::exporters {

extern const std::string_view kPageBeforeData;
extern const std::string_view kPageAfterData;

}  // namespace sampan::exporters
