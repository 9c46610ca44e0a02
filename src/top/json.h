// What top shows, as data: docs/top-json.md says what is in it.
#pragma once

#include <string>

#include "top/choices.h"
#include "top/history.h"
#include "top/render.h"

namespace sampan::top {

// One object: threads and functions whole, the call tree as far as it is open.
std::string json(const History& history, const Choices& choices, const Status& status);

}  // namespace sampan::top
