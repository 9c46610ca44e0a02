// Files that are compressed as a whole.
#pragma once

#include <string>
#include <string_view>

namespace sampan::importers {

// What a gzip (RFC 1952) or zstd (RFC 8878) file holds; empty when the bytes are neither. Throws Error when they are damaged,
// or hold more than 4 GB.
std::string inflate(std::string_view bytes);

}  // namespace sampan::importers
