// What the tasks of event loops did, and what held a loop for long: as tables, and in the JSON.
#pragma once

#include <cstdint>
#include <string>

#include "base/text/json_writer.h"
#include "profile/view.h"
#include "reports/sections.h"

namespace sampan::reports {

std::string tasks_section(const Context& context);
// Members of the object that is open, where there are event loops.
void write_tasks(Json& json, const profile::View& view, uint64_t least_block_ns);

}  // namespace sampan::reports
