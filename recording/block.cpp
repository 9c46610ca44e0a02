#include "recording/block.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.h"

namespace sampan::recording {
namespace {

// Levels 6 to 19 gain 1 to 5 % and cost up to twenty times as much.
constexpr int kCompressionLevel = 3;

// A crafted file full of block headers must not be hashed again and again.
constexpr size_t kMaxAttempts = 1000;

constexpr size_t kChecksummed = offsetof(BlockHeader, checksum);

uint64_t checksum_of(const void* header, const void* stored, size_t size) {
  return XXH3_64bits_withSeed(stored, size, XXH3_64bits(header, kChecksummed));
}

}  // namespace

BlockEncoder::BlockEncoder() : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
}
BlockEncoder::~BlockEncoder() {
  ZSTD_freeCCtx(context_);
}

void BlockEncoder::append(BlockType type, std::span<const uint8_t> payload, std::string* file) {
  const size_t begin = file->size();
  const size_t bound = ZSTD_compressBound(payload.size());
  file->resize(begin + sizeof(BlockHeader) + bound);
  char* stored = file->data() + begin + sizeof(BlockHeader);
  size_t size =
      ZSTD_compressCCtx(context_, stored, bound, payload.data(), payload.size(), kCompressionLevel);
  if (ZSTD_isError(size) || size >= payload.size() || payload.size() / kMaxExpansion >= size) {
    size = payload.size();
    if (size != 0) std::memcpy(stored, payload.data(), size);
  }
  BlockHeader header{.magic = kBlockMagic,
                     .type = static_cast<uint32_t>(type),
                     .stored_size = static_cast<uint32_t>(size),
                     .raw_size = static_cast<uint32_t>(payload.size()),
                     .checksum = 0};
  header.checksum = checksum_of(&header, stored, size);
  std::memcpy(file->data() + begin, &header, sizeof(header));
  file->resize(begin + sizeof(BlockHeader) + size);
}

uint64_t stored_bytes(std::string_view file, size_t blocks_begin, BlockType type) {
  uint64_t sum = 0;
  BlockHeader header;
  for (size_t at = blocks_begin; at <= file.size() && file.size() - at >= sizeof(header);
       at += sizeof(header) + header.stored_size) {
    std::memcpy(&header, file.data() + at, sizeof(header));
    if (header.magic != kBlockMagic || header.stored_size > file.size() - at) break;
    if (header.type == static_cast<uint32_t>(type)) sum += header.stored_size;
  }
  return sum;
}

bool BlockReader::next(Block* block) {
  const size_t begin = offset_;
  const char* problem = nullptr;
  size_t end = 0;
  while (offset_ < file_.size()) {
    const char* here = attempts_ < kMaxAttempts ? problem_at(offset_, block, &end) : "given up";
    if (here == nullptr) break;
    ++attempts_;
    if (problem == nullptr) problem = here;
    offset_ = attempts_ < kMaxAttempts ? next_magic(offset_) : file_.size();
  }
  if (problem != nullptr) {
    lost_ += offset_ - begin;
    damage_.push_back(
        fmt::format("block at byte {}: {} ({} bytes lost)", begin, problem, offset_ - begin));
  }
  if (offset_ >= file_.size()) return false;
  offset_ = end;
  return true;
}

void BlockReader::reject(const Block& block) {
  lost_ += offset_ - block.offset;
  damage_.push_back(fmt::format("block at byte {}: its content makes no sense ({} bytes lost)",
                                block.offset, offset_ - block.offset));
}

const char* BlockReader::problem_at(size_t offset, Block* block, size_t* end) {
  BlockHeader header;
  const size_t rest = file_.size() - offset;
  if (rest < sizeof(header)) return "cut off";
  std::memcpy(&header, file_.data() + offset, sizeof(header));
  if (header.magic != kBlockMagic) return "not the start of a block";
  if (header.raw_size > kMaxRawSize || header.stored_size > header.raw_size ||
      header.raw_size / kMaxExpansion > header.stored_size) {
    return "its size makes no sense";
  }
  if (header.stored_size > rest - sizeof(header)) return "cut off";
  const char* stored = file_.data() + offset + sizeof(header);
  if (checksum_of(&header, stored, header.stored_size) != header.checksum) {
    return "checksum differs";
  }

  raw_.resize(header.raw_size);
  if (header.stored_size == header.raw_size) {
    if (!raw_.empty()) std::memcpy(raw_.data(), stored, raw_.size());
  } else if (ZSTD_decompress(raw_.data(), raw_.size(), stored, header.stored_size) != raw_.size()) {
    return "its content does not decompress";
  }
  *block = {static_cast<BlockType>(header.type), offset, header.stored_size, raw_};
  *end = offset + sizeof(header) + header.stored_size;
  return nullptr;
}

size_t BlockReader::next_magic(size_t offset) const {
  char magic[sizeof(kBlockMagic)];
  std::memcpy(magic, &kBlockMagic, sizeof(magic));
  const size_t found = file_.find({magic, sizeof(magic)}, offset + 1);
  return found == file_.npos ? file_.size() : found;
}

OutputFile::OutputFile(const std::string& path)
    : path_(path),
      fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, new_file_mode)) {
  if (fd_ < 0) throw Error("creating {}: {}", path, std::strerror(errno));
  (void)::fchmod(fd_, new_file_mode);  // the umask may be narrower
}

OutputFile::OutputFile(const std::string& path, Existing)
    : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
  if (fd_ < 0) throw Error("opening {}: {}", path, std::strerror(errno));
  size_ = ::lseek(fd_, 0, SEEK_END);
}

void OutputFile::append(const std::string& bytes) {
  if (fd_ < 0) return;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = count < 0 ? errno : ENOSPC;
      // Readers would cut a torn block anyway; without it the recording is whole.
      if (::ftruncate(fd_, size_) != 0) { /* then they do cut it */
      }
      close();
      throw Error("writing {}: {}", path_, std::strerror(error));
    }
    done += static_cast<size_t>(count);
  }
  size_ += static_cast<int64_t>(bytes.size());
}

void OutputFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace sampan::recording
