// gzip and zstd files, inflated.
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <memory>

#include "base/error.h"
#include "importers/formats.h"

namespace sampan::importers {
namespace {

constexpr size_t kMost = size_t{4} << 30;
constexpr size_t kPiece = size_t{1} << 17;

void append(std::string* to, std::string_view piece) {
  if (piece.size() > kMost - to->size()) throw Error("it holds more than 4 GB");
  to->append(piece);
}

std::string gunzip(std::string_view bytes) {
  constexpr int kGzip = 15 + 16;  // inflateInit2(): the largest window, a gzip header
  z_stream stream = {};
  if (inflateInit2(&stream, kGzip) != Z_OK) throw Error("zlib has no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  std::string whole;
  std::array<char, kPiece> piece;
  bool is_full = false;  // there may be more without further input
  bool has_ended = false;
  while (!bytes.empty() || is_full) {
    // zlib counts in 32 bits.
    const size_t given = std::min(bytes.size(), size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = kPiece;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(given - stream.avail_in);
    append(&whole, {piece.data(), kPiece - stream.avail_out});
    is_full = stream.avail_out == 0;
    has_ended = result == Z_STREAM_END;
    if (result == Z_BUF_ERROR && given == 0) break;
    if (result == Z_STREAM_END) {
      inflateReset(&stream);  // another member may follow
    } else if (result != Z_OK) {
      throw Error("its gzip data is damaged");
    }
  }
  if (!has_ended) throw Error("its gzip data is cut off");
  return whole;
}

std::string unzstd(std::string_view bytes) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (!stream) throw Error("zstd has no memory");
  std::string whole;
  std::array<char, kPiece> piece;
  size_t left = 0;  // of the frame; 0: it has ended
  ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
  bool is_full = false;  // there may be more without further input
  while (in.pos < in.size || is_full) {
    ZSTD_outBuffer out = {piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(left) != 0) throw Error("its zstd data is damaged");
    append(&whole, {piece.data(), out.pos});
    is_full = out.pos == out.size;
  }
  if (left != 0) throw Error("its zstd data is cut off");
  return whole;
}

}  // namespace

std::string inflate(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x1f\x8b"sv)) return gunzip(bytes);
  if (bytes.starts_with("\x28\xb5\x2f\xfd"sv)) return unzstd(bytes);
  return {};
}

}  // namespace sampan::importers
