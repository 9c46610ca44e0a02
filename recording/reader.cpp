#include "recording/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "recording/block.h"
#include "recording/codec.h"

namespace sampan::recording {
namespace {

// The most rows that a lost byte may have held. Real bytes hold less than one.
constexpr uint64_t kMaxRowsPerByte = 4;
// Reserves more rows than are expected.
constexpr double kSpare = 1.25;
// A file is read in steps: what is zeroed for one is still in the caches when it is read into.
constexpr size_t kLeastStep = 1 << 12, kMostStep = 1 << 20;

void check_header(std::string_view bytes, const std::string& name) {
  FileHeader header;
  if (bytes.size() < sizeof(header) ||
      std::memcmp(bytes.data(), kFileMagic, sizeof(kFileMagic)) != 0) {
    throw Error("{}: not a sampan recording", name);
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version < kOldestVersion || header.version > kVersion) {
    throw Error("{}: recording version {}, this sampan reads {}: use {} sampan", name,
                header.version, kVersion, header.version > kVersion ? "a newer" : "an older");
  }
}

class Parser {
 public:
  explicit Parser(std::string_view bytes)
      : bytes_(bytes), rows_(bytes, BlockType::kRows), markers_(bytes, BlockType::kMarkers) {}

  Recording parse() {
    uint64_t lost_bytes = 0;
    BlockReader blocks(bytes_, sizeof(FileHeader));
    for (BlockReader::Block block; blocks.next(&block);) {
      lost_rows_ += (blocks.lost() - lost_bytes) * kMaxRowsPerByte;
      lost_bytes = blocks.lost();
      if (!take(block)) blocks.reject(block);
    }
    close_gaps(&to_);
    to_.markers.texts = texts_.take();
    if (!to_.segment || to_.segment->number == 0) number_rows();
    to_.damage = blocks.damage();
    if (!has_session_) {
      to_.damage.push_back("nothing is known of the session: its block is lost");
    }
    return std::move(to_);
  }

 private:
  // How many times the rows of the blocks so far there will be in all, by the bytes of the blocks of a type.
  class Expectation {
   public:
    Expectation(std::string_view file, BlockType type)
        : bytes_(stored_bytes(file, sizeof(FileHeader), type)) {}
    double after(const BlockReader::Block& block) {
      bytes_read_ += block.stored_size;  // bytes_ does not count blocks after damage
      const auto read = static_cast<double>(std::max<uint64_t>(bytes_read_, 1));
      return std::max(kSpare * static_cast<double>(bytes_) / read, 1.0);
    }

   private:
    uint64_t bytes_, bytes_read_ = 0;
  };

  // Enters one block into the tables; false when its content is invalid.
  bool take(const BlockReader::Block& block) {
    switch (block.type) {
      case BlockType::kSession: {
        auto session = decode_session(block.payload);
        has_session_ |= session.has_value();
        return take(std::move(session), &to_.session);
      }
      case BlockType::kRows:
        return decode_rows(block.payload, rows_.after(block), &lost_rows_, &to_);
      case BlockType::kOrigins: return take(decode_origins(block.payload), &to_.origins);
      case BlockType::kSegment: {
        auto segment = decode_segment(block.payload);
        if (segment) to_.segment = segment;
        return segment.has_value();
      }
      case BlockType::kIdentities: return decode_identities(block.payload, &to_);
      case BlockType::kRates: return decode_rates(block.payload, &to_.rates);
      case BlockType::kEnd: return take(decode_end(block.payload), &to_.end);
      case BlockType::kMarkers:
        return decode_markers(block.payload, markers_.after(block), &lost_rows_, &texts_, &to_);
      case BlockType::kNames: return decode_names(block.payload, to_.modules.size(), &to_.names);
      case BlockType::kJitNames: return decode_jit_names(block.payload, &to_.names);
    }
    return false;
  }

  // The ids of the session's first file.
  void number_rows() {
    for (uint32_t row = 0; row < to_.processes.size(); ++row) to_.processes[row].id = row;
    for (uint32_t row = 0; row < to_.threads.size(); ++row) to_.threads[row].id = row;
  }

  template <typename Part, typename Place>
  static bool take(std::optional<Part> part, Place* place) {
    if (!part) return false;
    *place = std::move(*part);
    return true;
  }

  std::string_view bytes_;
  Expectation rows_, markers_;
  Recording to_;
  TextTable<> texts_;  // of to_.markers
  bool has_session_ = false;
  uint64_t lost_rows_ = 0;
};

std::string read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error("opening {}: {}", path, std::strerror(errno));
  std::string bytes;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    bytes.reserve(static_cast<size_t>(status.st_size) + 1);  // the end is met without room for more
  }
  size_t size = 0;
  for (ssize_t count = 1; count > 0; size += static_cast<size_t>(count)) {
    if (size == bytes.size()) {
      bytes.resize(size + std::clamp(bytes.capacity() - size, kLeastStep, kMostStep));
    }
    do {
      count = ::read(fd, bytes.data() + size, bytes.size() - size);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
      const int error = errno;
      ::close(fd);
      throw Error("reading {}: {}", path, std::strerror(error));
    }
  }
  ::close(fd);
  bytes.resize(size);
  return bytes;
}

}  // namespace

Recording read(const std::string& path) {
  return parse(read_file(path), path);
}

Recording parse(std::string_view bytes, const std::string& name) {
  check_header(bytes, name);
  return Parser(bytes).parse();
}

}  // namespace sampan::recording
