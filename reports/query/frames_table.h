// The table `frames`: the stacks of samples, a row for each frame.
#pragma once

#include <memory>

#include "reports/query/tables.h"

namespace sampan::reports {

std::unique_ptr<QueryTable> frames_table(const profile::Profile& profile);

}  // namespace sampan::reports
