// The blocks of format.h: compressed, checked, found again behind damage.
#pragma once

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

// The stored bytes of all blocks of `type`, by their headers alone, as far as those follow each
// other.
uint64_t stored_bytes(std::string_view file, size_t blocks_begin, BlockType type);

// Walks over the blocks of a file in memory.
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

  // The next block whose checksum fits; false at the end. What was passed over is in damage().
  bool next(Block* block);

  // The block that next() returned is whole, but its content makes no sense.
  void reject(const Block& block);

  const std::vector<std::string>& damage() const { return damage_; }
  // Bytes passed over and rejected so far.
  size_t lost() const { return lost_; }

 private:
  // What is wrong with the block at `offset`; nullptr, and the block, when it is whole.
  const char* problem_at(size_t offset, Block* block, size_t* end);
  // Where the next block may begin, after `offset`; the file's end if nowhere.
  size_t next_magic(size_t offset) const;

  std::string_view file_;
  size_t offset_;
  size_t lost_ = 0;
  size_t attempts_ = 0;
  std::vector<uint8_t> raw_;
  std::vector<std::string> damage_;
};

}  // namespace sampan::recording
