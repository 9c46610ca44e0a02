#include "exporters/gzip_writer.h"

#include <algorithm>
#include <climits>

#include "base/error.h"

namespace sampan::exporters {
namespace {

// Profiles compress well at any level, and the higher ones take several times as long.
constexpr int kLevel = 3;
constexpr int kGzipWindow = MAX_WBITS + 16;  // the 16 asks zlib for a gzip header

}  // namespace

GzipWriter::GzipWriter(OutputFile& file) : file_(file), output_(1 << 16, '\0') {
  if (deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindow, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw Error("zlib cannot be set up: out of memory");
  }
}

GzipWriter::~GzipWriter() {
  deflateEnd(&stream_);
}

void GzipWriter::deflate_all(std::string_view bytes, int flush) {
  int result = Z_OK;
  do {
    const size_t part = std::min<size_t>(bytes.size(), UINT_MAX);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(part);
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      result = deflate(&stream_, flush);
      file_.write(std::string_view(output_).substr(0, output_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
    bytes.remove_prefix(part);
  } while (!bytes.empty() || (flush == Z_FINISH && result == Z_OK));
}

}  // namespace sampan::exporters
