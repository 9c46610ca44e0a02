#include "symbolizer/mini_debug_info.h"

#include <lzma.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"

namespace sampan::symbolizer {

namespace {

constexpr uint64_t kMaxDictionary = uint64_t{128} << 20;  // xz -9 asks for 65 MB
constexpr size_t kFirstRoom = size_t{1} << 18;

struct Stream {
  Stream() {
    if (lzma_stream_decoder(&state, kMaxDictionary, 0) != LZMA_OK) {
      throw Error("no memory to decompress .gnu_debugdata");
    }
  }
  ~Stream() { lzma_end(&state); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  lzma_stream state = LZMA_STREAM_INIT;
};

std::vector<char> decompress(std::span<const uint8_t> bytes) {
  Stream stream;
  stream.state.next_in = bytes.data();
  stream.state.avail_in = bytes.size();
  std::vector<char> result;
  for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
    if (result.size() >= kMaxMiniDebugInfo) {
      throw Error(".gnu_debugdata is larger than {} MB", kMaxMiniDebugInfo >> 20);
    }
    const size_t done = result.size();
    result.resize(std::max(kFirstRoom, 2 * done));
    stream.state.next_out = reinterpret_cast<uint8_t*>(result.data()) + done;
    stream.state.avail_out = result.size() - done;
    status = lzma_code(&stream.state, LZMA_FINISH);
    result.resize(result.size() - stream.state.avail_out);
    const bool is_well = status == LZMA_STREAM_END || (status == LZMA_OK && result.size() > done);
    if (!is_well) throw Error(".gnu_debugdata cannot be decompressed");
  }
  return result;
}

}  // namespace

std::optional<ElfFile> mini_debug_info(const ElfFile& file) {
  const std::span<const uint8_t> bytes = file.section(".gnu_debugdata").bytes;
  if (bytes.empty()) return std::nullopt;
  return ElfFile(decompress(bytes), file.path());
}

}  // namespace sampan::symbolizer
