// The tables of top: which columns fit, and what is in them.
#pragma once

#include <cstddef>
#include <string>

#include "top/content.h"
#include "top/render.h"

namespace sampan::top {

// The line of titles, with a mark at the column that is sorted by.
std::string titles(const Content& content, const Choices& choices, const Status& status,
                   size_t width);
// One row, in exactly `width` cells.
std::string row_text(const Content& content, const Choices& choices, const Status& status,
                     size_t row, size_t width);

}  // namespace sampan::top
