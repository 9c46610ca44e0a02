// What is pushed at once: a request to the store, but for its address and its secrets, as a file of
// the spool. A line of names and values (percent.h), then the body:
//
//   sampan-piece=1&id=…&query=…&type=…&encoding=…&about=…&size=BYTES&hash=HEX\n
//
// `hash` is XXH3, 64 bits, of the line before "&hash=" and of the body.
#pragma once

#include <string>
#include <string_view>

namespace sampan::push {

struct Piece {
  std::string id = {};        // a UUID: the same of the same content
  std::string query = {};     // "from=…&until=…", or ""
  std::string type = {};      // Content-Type
  std::string encoding = {};  // Content-Encoding, or ""
  std::string about = {};     // for people: "redis-server, 10.0 s, 1,000 samples"
  std::string body = {};
};

std::string file_of(const Piece& piece);
// Throws Error, naming `name`, for what file_of() has not written.
Piece parse_piece(std::string_view file, const std::string& name);

// A UUID (RFC 9562, version 8) that is a hash of the content.
std::string uuid_of(std::string_view content);

}  // namespace sampan::push
