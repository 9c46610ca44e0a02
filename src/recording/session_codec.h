// The payloads of the blocks without rows (format.h): session, origins, end.
#pragma once

#include <span>

#include "recording/columns.h"
#include "recording/tables.h"

namespace sampan::recording {

void encode(const Session& session, ColumnWriter* out);
void encode(const SessionEnd& end, ColumnWriter* out);
void encode(std::span<const Origin> origins, ColumnWriter* out);

// Empty when the bytes make no sense.
std::optional<Session> decode_session(std::span<const uint8_t> payload);
std::optional<SessionEnd> decode_end(std::span<const uint8_t> payload);
std::optional<std::vector<Origin>> decode_origins(std::span<const uint8_t> payload);

}  // namespace sampan::recording
