#include "exporters/tar_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string_view>

#include "base/error.h"

namespace sampan::exporters {
namespace {

constexpr size_t kBlock = 512;
constexpr uint64_t kLargest = (uint64_t{1} << 33) - 1;  // eleven octal digits

// pax(1), "ustar Interchange Format".
std::string header(const std::string& name, uint64_t size) {
  std::string block(kBlock, '\0');
  const auto put = [&](size_t offset, std::string_view text) {
    std::copy(text.begin(), text.end(), block.begin() + static_cast<ptrdiff_t>(offset));
  };
  put(0, name);
  put(100, "0000644");  // mode
  put(108, "0000000");  // owner
  put(116, "0000000");  // group
  put(124, fmt::format("{:011o}", size));
  put(136, "00000000000");                       // time
  put(148, "        ");                          // the checksum counts as spaces in itself
  put(156, "0");                                 // a regular file
  put(257, std::string_view("ustar\00000", 8));  // and version
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0u, [](unsigned total, char c) {
    return total + static_cast<unsigned char>(c);
  });
  put(148, fmt::format("{:06o}", sum) + '\0');
  return block;
}

}  // namespace

void TarWriter::add(const std::string& name, const std::string& path) {
  if (name.size() > 100) throw Error("putting {} into a bundle: its name is too long", name);
  const uint64_t size = std::filesystem::file_size(path);
  if (size > kLargest) throw Error("putting {} into a bundle: it is larger than 8 GiB", name);
  gzip_.write(header(name, size));
  std::ifstream file(path, std::ios::binary);
  std::string buffer(1 << 18, '\0');
  uint64_t left = size;
  while (left > 0) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(left, buffer.size()));
    if (!file.read(buffer.data(), static_cast<std::streamsize>(part))) {
      throw Error("reading {}: it ends early", path);
    }
    gzip_.write(std::string_view(buffer).substr(0, part));
    left -= part;
  }
  gzip_.write(std::string((kBlock - size % kBlock) % kBlock, '\0'));
}

void TarWriter::finish() {
  gzip_.write(std::string(2 * kBlock, '\0'));
  gzip_.finish();
}

}  // namespace sampan::exporters
