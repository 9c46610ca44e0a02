// The blocks of format.h: compressed, with checksums, appended to a file, and found again after
// damage.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recording/format.h"

struct ZSTD_CCtx_s;

namespace sampan::recording {

class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // Appends a whole block to `file`. `payload` has at most kMaxRawSize bytes.
  void append(BlockType type, std::span<const uint8_t> payload, std::string* file);

 private:
  ZSTD_CCtx_s* context_;
};

// The sum of the stored bytes of all blocks of `type`. Reads headers only, and stops at the first
// one that is damaged.
uint64_t stored_bytes(std::string_view file, size_t blocks_begin, BlockType type);

// Iterates over the blocks of a file in memory.
class BlockReader {
 public:
  struct Block {
    BlockType type;
    size_t offset;  // of its header in the file
    size_t stored_size;
    std::span<const uint8_t> payload;  // until the next call
  };

  // `blocks_begin`: where the first block is.
  BlockReader(std::string_view file, size_t blocks_begin) : file_(file), offset_(blocks_begin) {}

  // The next block whose checksum is right; false at the end. damage() says what was skipped.
  bool next(Block* block);

  // The block that next() returned is whole, but its content is invalid.
  void reject(const Block& block);

  const std::vector<std::string>& damage() const { return damage_; }
  // Bytes skipped and rejected so far.
  size_t lost() const { return lost_; }

 private:
  // What is wrong with the block at `offset`. When it is whole: sets the block, returns nullptr.
  const char* problem_at(size_t offset, Block* block, size_t* end);
  // Where the next block may begin after `offset`; the file's size when there is none.
  size_t next_magic(size_t offset) const;

  std::string_view file_;
  size_t offset_;
  size_t lost_ = 0;
  size_t attempts_ = 0;
  std::vector<uint8_t> raw_;
  std::vector<std::string> damage_;
};

inline mode_t new_file_mode = 0600;  // set_file_mode() of writer.h

class OutputFile {
 public:
  // Creates `path`; throws Error when it exists or cannot be created.
  explicit OutputFile(const std::string& path);
  // Opens an existing file, to append to it.
  struct Existing {};
  OutputFile(const std::string& path, Existing);
  ~OutputFile() { close(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Appends `bytes` with one write(2). The first failure (the disk is full) throws Error; the file
  // then ends with the last whole block, and later calls write nothing.
  void append(const std::string& bytes);
  void close();

  uint64_t size() const { return static_cast<uint64_t>(size_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace sampan::recording
