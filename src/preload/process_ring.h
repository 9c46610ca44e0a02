// The process ring: records about the whole process, written in ordinary context by any thread.
// A record that does not fit, or that cannot have the lock soon, is dropped and counted.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>
#include <span>

#include "wire/loss.h"
#include "wire/record.h"

namespace sampan::preload {

void start_process_ring();

// A record that begins with the time, goes on with `fields` and ends with `text`. `loss` is what to
// count when it is lost.
bool write_process_record(wire::RecordType type, std::span<const uint8_t> fields,
                          std::span<const char> text, wire::Loss loss);

}  // namespace sampan::preload
