// Functions that call one another and then wait, in ways that the tests know: built twice, with and
// without frame pointers.
#pragma once

#include <string_view>
#include <vector>

namespace with_frame_pointer {
#include "habits.inc"
}
namespace without_frame_pointer {
#include "habits.inc"
}
