// One file of a Writer, and its pending rows: they are interned, collected and written in blocks.
// Indexes are those of rows in this file.
//
// Errors: throws Error (base/error.h) with the file's name, e.g. when the disk is full.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recording/block.h"
#include "recording/bounded_interner.h"
#include "recording/codec.h"
#include "recording/columns.h"
#include "recording/reader.h"

namespace sampan::recording {

class RowFile {
 public:
  RowFile(const std::string& path, const Session& session, std::span<const Origin> origins,
          const std::optional<Segment>& segment);

  // `id`: its id in the session, if that differs from the index of its row; `earlier`: its losses
  // when this file began.
  uint32_t add(const Process& row, std::optional<uint32_t> id = {}, const Losses& earlier = {});
  uint32_t add(const Thread& row, std::optional<uint32_t> id = {});
  uint32_t add(const Module& row);
  void add(const ThreadName& row) { pending_.thread_names.push_back(row); }
  void add(const ThreadEnd& row) { pending_.thread_ends.push_back(row); }
  void add(const ProcessEnd& row) { pending_.process_ends.push_back(row); }
  void add(const Losses& row) { pending_.losses.push_back(row); }
  void add(const RateChange& row) { pending_.rates.changes.push_back(row); }
  void add(const Cost& row) { pending_.rates.costs.push_back(row); }
  void add(const Sample& row) { pending_.samples.push_back(row); }
  void add(const WatchChange& row) { pending_.watch_changes.push_back(row); }
  void add(const Allocation& row) { pending_.allocations.push_back(row); }
  void add(const Free& row) { pending_.frees.push_back(row); }
  uint32_t add(const Lock& row);
  void add(const LockWait& row) { pending_.lock_waits.push_back(row); }
  // Rows of a process that nothing is known about, of its thread and of its lock.
  uint32_t lost_process();
  uint32_t lost_thread();
  uint32_t lost_lock();

  uint32_t add(const Frame& row);
  uint32_t add(const Stack& row);
  // Interned, see Writer.
  uint32_t frame(const Frame& frame, const FrameName* name = nullptr);
  void name(uint32_t frame, const FrameName& name);
  void add(JitName row, std::string_view name);
  uint32_t stack(uint32_t prefix, uint32_t frame);
  uint32_t stack(std::span<const Frame> frames);
  uint32_t wait(const Wait& wait);
  uint32_t context(const TraceContext& context) { return contexts_.intern(context).handle; }

  uint32_t text(std::string_view text) {
    const auto [handle, is_new] = texts_.intern(text);
    if (is_new) text_bytes_ += text.size();
    return handle;
  }
  template <typename Row>
  void add_marker(std::vector<Row> Markers::*rows, const Row& row) {
    (pending_.markers.*rows).push_back(row);
    ++markers_;
    if (markers_ >= kMaxPendingRows || text_bytes_ >= kMaxPendingText) flush();
  }

  // There are so many rows that they should be written soon.
  bool is_full() const { return rows() >= kMaxPendingRows; }
  void flush();
  // Flushes, writes the end block, closes.
  void finish(const SessionEnd& end);

  uint64_t samples() const { return samples_ + pending_.samples.size(); }
  uint64_t bytes() const { return file_.size(); }  // written
  const std::string& path() const { return file_.path(); }

 private:
  static constexpr size_t kMaxPendingRows = 1 << 17;
  static constexpr size_t kMaxPendingText = size_t{1} << 24;  // bytes, of markers
  static constexpr size_t kMaxStacks = size_t{1} << 22;       // 48 MB of them are remembered
  static constexpr size_t kMaxFrames = size_t{1} << 20;       // 16 MB
  static constexpr size_t kMaxWaits = 1 << 16;                // then without their objects

  struct FrameKey {
    uint32_t module, address_low, address_high;  // 4-byte aligned: 16 bytes per entry
    bool operator==(const FrameKey&) const = default;
    uint64_t hash() const {
      return mix_bits((uint64_t{address_high} << 32 | address_low) ^ uint64_t{module} << 40);
    }
  };

  size_t rows() const;
  void flush_rows();
  void flush_identities();
  void flush_rates();
  void flush_markers();
  void flush_names();
  void flush_code_names();
  void append(BlockType type);

  OutputFile file_;
  BlockEncoder blocks_;
  ColumnWriter payload_;
  std::string bytes_;
  Recording pending_;  // new rows
  Identities identities_;
  Interner<TraceContext> contexts_;  // of pending_.samples
  TextTable<> texts_;                // of pending_.markers
  TextTable<> name_texts_;           // of pending_.names
  Names code_names_;                 // new rows of Names::jit
  TextTable<> code_texts_;           // and their texts
  size_t text_bytes_ = 0;
  size_t markers_ = 0;    // rows of pending_.markers
  RowCounts before_;      // rows that are written
  uint64_t samples_ = 0;  // written
  uint32_t lost_process_ = kNone, lost_thread_ = kNone, lost_lock_ = kNone;
  std::unordered_map<std::string, uint32_t> waits_;  // by call and object
  BoundedInterner<FrameKey> frames_{kMaxFrames};
  BoundedInterner<Stack> stacks_{kMaxStacks};
  LastSequence<Frame> last_stack_;  // its frames, root first
};

}  // namespace sampan::recording
