#include "recording/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "recording/block.h"
#include "recording/rows.h"
#include "recording/session_codec.h"

namespace sampan::recording {
namespace {

// How many rows a lost byte may have held: real ones hold less than one.
constexpr uint64_t kMaxRowsPerByte = 4;

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

// One block into the tables; false when its content makes no sense.
bool take(const BlockReader::Block& block, uint64_t* lost_rows, bool* has_session, Recording* to) {
  switch (block.type) {
    case BlockType::kSession:
      if (auto session = decode_session(block.payload)) {
        to->session = std::move(*session);
        *has_session = true;
        return true;
      }
      return false;
    case BlockType::kRows: return decode_rows(block.payload, lost_rows, to);
    case BlockType::kOrigins:
      if (auto origins = decode_origins(block.payload)) {
        to->origins = std::move(*origins);
        return true;
      }
      return false;
    case BlockType::kEnd:
      if (auto end = decode_end(block.payload)) {
        to->end = std::move(*end);
        return true;
      }
      return false;
  }
  return false;
}

std::string read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error("opening {}: {}", path, std::strerror(errno));
  std::string bytes;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    bytes.reserve(static_cast<size_t>(status.st_size) + 1);
  }
  size_t size = 0;
  for (ssize_t count = 1; count > 0; size += static_cast<size_t>(count)) {
    bytes.resize(size + (size_t{1} << 20));
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
  Recording recording;
  bool has_session = false;
  uint64_t lost_bytes = 0, lost_rows = 0;
  BlockReader blocks(bytes, sizeof(FileHeader));
  for (BlockReader::Block block; blocks.next(&block);) {
    lost_rows += (blocks.lost() - lost_bytes) * kMaxRowsPerByte;
    lost_bytes = blocks.lost();
    if (!take(block, &lost_rows, &has_session, &recording)) blocks.reject(block);
  }
  close_gaps(&recording);
  recording.damage = blocks.damage();
  if (!has_session)
    recording.damage.push_back("nothing is known of the session: its block is lost");
  return recording;
}

}  // namespace sampan::recording
