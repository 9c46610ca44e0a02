// The header of profile.html's data: everything but its columns, as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exporters/page_columns.h"
#include "exporters/page_tables.h"
#include "profile/view.h"

namespace sampan::exporters {

// `notes`: what else the person must know.
std::string page_header(const profile::View& view, const PageTables& tables,
                        const std::vector<std::string_view>& marker_texts,
                        const std::vector<const PageColumn*>& columns,
                        const std::vector<std::string>& notes);

}  // namespace sampan::exporters
