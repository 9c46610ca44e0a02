// What is pushed at once: a request to the store without its address and secrets, made of a
// recording, and kept as a file in the spool. One line of names and values (labels.h), then the body:
//
//   sampan-piece=1&id=…&query=…&type=…&encoding=…&about=…&size=BYTES&hash=HEX\n
//
// `hash` is the 64-bit XXH3 of the line before "&hash=" and of the body.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recording/reader.h"
#include "remote/push/labels.h"
#include "remote/push/store.h"
#include "symbolizer/symbolizer.h"

namespace sampan::push {

struct Piece {
  std::string id = {};        // a UUID derived from the content
  std::string query = {};     // "from=…&until=…", or ""
  std::string type = {};      // Content-Type
  std::string encoding = {};  // Content-Encoding, or ""
  std::string about = {};     // for messages: "redis-server, 10.0 s, 1,000 samples"
  std::string body = {};
};

std::string file_of(const Piece& piece);
// Throws Error, naming `name`, unless file_of() wrote the file.
Piece parse_piece(std::string_view file, const std::string& name);

// A UUID (RFC 9562, version 8) that is a hash of the content.
std::string uuid_of(std::string_view content);

struct Composed {
  std::optional<Piece> piece;      // none if the recording has no samples
  std::vector<std::string> notes;  // for the user
};

// `labels` take precedence over the recording's own (service.name, host.name). `scratch`: the path
// of a temporary file. Throws Error, and what names.progress throws.
Composed compose(recording::Recording recording, Labels labels, Format format,
                 const symbolizer::Options& names, const std::string& scratch);

}  // namespace sampan::push
