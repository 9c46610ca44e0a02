#include "push/piece.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "push/percent.h"

namespace sampan::push {
namespace {

constexpr size_t kLongestHead = size_t{64} << 10;
constexpr std::string_view kHash = "&hash=";

std::string hash_of(std::string_view head, std::string_view body) {
  return fmt::format("{:016x}", XXH3_64bits_withSeed(body.data(), body.size(),
                                                     XXH3_64bits(head.data(), head.size())));
}

// A header's value, or a part of the URL, may not begin another one.
bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

}  // namespace

std::string file_of(const Piece& piece) {
  const std::string head = encoded_pairs({{"sampan-piece", "1"},
                                          {"id", piece.id},
                                          {"query", piece.query},
                                          {"type", piece.type},
                                          {"encoding", piece.encoding},
                                          {"about", piece.about},
                                          {"size", std::to_string(piece.body.size())}});
  return head + std::string(kHash) + hash_of(head, piece.body) + "\n" + piece.body;
}

Piece parse_piece(std::string_view file, const std::string& name) {
  const auto refuse = [&](const char* why) {
    throw Error("{}: no piece of sampan's: {}", name, why);
  };
  const size_t end = file.substr(0, kLongestHead).find('\n');
  if (end == file.npos) refuse("it has no head");
  const std::string_view line = file.substr(0, end);
  const std::string_view body = file.substr(end + 1);
  const size_t hash = line.rfind(kHash);
  if (hash == line.npos) refuse("it has no checksum");
  const std::string_view head = line.substr(0, hash);
  if (line.substr(hash + kHash.size()) != hash_of(head, body)) refuse("its checksum differs");

  const std::optional<Pairs> pairs = decoded_pairs(head, '&');
  if (!pairs) refuse("its head makes no sense");
  const auto value = [&](std::string_view key) {
    const auto found = std::ranges::find_if(*pairs, [&](const auto& p) { return p.first == key; });
    if (found == pairs->end() || !is_one_line(found->second)) refuse("its head lacks something");
    return found->second;
  };
  if (value("sampan-piece") != "1") refuse("it is of another version");
  if (value("size") != std::to_string(body.size())) refuse("it is cut off");
  return {value("id"),       value("query"), value("type"),
          value("encoding"), value("about"), std::string(body)};
}

std::string uuid_of(std::string_view content) {
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(content.data(), content.size()));
  hash.digest[6] = static_cast<unsigned char>((hash.digest[6] & 0x0f) | 0x80);
  hash.digest[8] = static_cast<unsigned char>((hash.digest[8] & 0x3f) | 0x80);
  std::string text;
  for (size_t i = 0; i < sizeof hash.digest; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", hash.digest[i]);
  }
  return text;
}

}  // namespace sampan::push
