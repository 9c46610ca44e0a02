// The payloads of blocks (format.h), encoded and decoded. A decoder that returns false or nothing has
// found an invalid payload, and has changed nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/huge_pages.h"
#include "base/interner.h"
#include "recording/columns.h"
#include "recording/names.h"
#include "recording/reader.h"
#include "recording/tables.h"

namespace sampan::recording {

// The numbers of rows before a block, for the tables that others refer to.
struct RowCounts {
  uint64_t processes = 0;
  uint64_t threads = 0;
  uint64_t modules = 0;
  uint64_t frames = 0;
  uint64_t stacks = 0;
  uint64_t waits = 0;
  uint64_t locks = 0;
};

RowCounts counts_of(const Recording& recording);

// `rows` has only the new rows; its session, end and damage are ignored. Samples are grouped by
// thread and wait, in their order; times and weights are truncated to the units of format.h.
void encode_rows(const Recording& rows, const RowCounts& before, ColumnWriter* out);

// Appends the rows of `payload` to `recording`. Returns false, and leaves `recording` as it was,
// when the payload is invalid. When blocks before this one were lost, placeholder rows are inserted
// so that indexes stay right: at most `lost_rows` in all tables, which is counted down. References
// in placeholders are kNone until close_gaps(), after the last block, gives them a process and a
// frame. `growth`: see resize_growing().
bool decode_rows(std::span<const uint8_t> payload, double growth, uint64_t* lost_rows,
                 Recording* recording);
// Inserts placeholders for the rows that were lost before a block, so that there are `before`, except
// of locks. False, possibly with some of them inserted, when there are more rows already or too many
// are missing.
bool fill_gaps(const RowCounts& before, uint64_t* lost_rows, Recording* recording);
void close_gaps(Recording* recording);

// Grows a table to the size that the block states; the rows in between were lost.
template <typename Row>
bool fill_gap(uint64_t before, uint64_t* lost_rows, const Row& row, std::vector<Row>* table) {
  if (before < table->size() || before - table->size() > *lost_rows) return false;
  *lost_rows -= before - table->size();
  table->resize(before, row);
  return true;
}

// The tail of kRows: what is recorded besides samples. A block without such rows has none.
bool has_watch_rows(const Recording& rows);
void encode_watch_rows(const Recording& rows, uint64_t locks_before, ColumnWriter* out);
// Appends; `in` has failed, with some rows appended, when the bytes are invalid.
void decode_watch_rows(ColumnReader* in, uint64_t* lost_rows, Recording* to);

inline constexpr const char* kLostName = "[lost]";  // of threads, processes, modules

// `markers` has only the new rows, with their own texts. `processes` and `threads` are the numbers
// of those rows in the file.
void encode_markers(const Markers& markers, uint64_t processes, uint64_t threads,
                    ColumnWriter* out);

// Appends the rows of `payload` to recording->markers, and their texts to `texts`. Returns false,
// and leaves `recording` as it was, when the payload makes no sense. Lost processes and threads are
// replaced as by decode_rows(). `growth`: see resize_growing().
bool decode_markers(std::span<const uint8_t> payload, double growth, uint64_t* lost_rows,
                    TextTable<>* texts, Recording* recording);

// Resizes a table that is expected to become `growth` times as long: to reserve that at once needs half the memory of growing step
// by step, and pages that are never touched cost nothing.
template <typename Row>
void resize_growing(size_t size, double growth, std::vector<Row>* rows) {
  constexpr double kMost = double{uint64_t{1} << 30} / sizeof(Row);  // the file may lie
  if (size > rows->capacity()) {
    const double expected = static_cast<double>(size) * growth;
    reserve_in_huge_pages(std::max(size, static_cast<size_t>(std::min(expected, kMost))), rows);
  }
  rows->resize(size);
}

// The sizes of tables, to restore them.
template <typename Tables, typename Owner>
class Sizes {
 public:
  Sizes(const Tables& tables, const Owner& owner) : tables_(tables) {
    for_each_table(tables_, [&](auto table) { sizes_.push_back((owner.*table).size()); });
  }
  void restore(Owner* owner) const {
    auto size = sizes_.begin();
    for_each_table(tables_, [&](auto table) { (owner->*table).resize(*size++); });
  }

 private:
  const Tables& tables_;
  std::vector<size_t> sizes_;
};

void encode_names(const Names& names, ColumnWriter* out);

// Appends to `names`. False, and nothing is appended, when the payload is invalid. The names may be
// of frames that the recording has lost.
bool decode_names(std::span<const uint8_t> payload, size_t modules, Names* names);

// The same for a block of Names::jit.
void encode_jit_names(const Names& names, ColumnWriter* out);
bool decode_jit_names(std::span<const uint8_t> payload, Names* names);

void encode(const Session& session, ColumnWriter* out);
void encode(const SessionEnd& end, ColumnWriter* out);
void encode(std::span<const Origin> origins, ColumnWriter* out);

// Empty when the bytes are invalid.
std::optional<Session> decode_session(std::span<const uint8_t> payload);
std::optional<SessionEnd> decode_end(std::span<const uint8_t> payload);
std::optional<std::vector<Origin>> decode_origins(std::span<const uint8_t> payload);

void encode(const Segment& segment, ColumnWriter* out);
std::optional<Segment> decode_segment(std::span<const uint8_t> payload);

// Rows, their ids in all segments of the session, and their losses in earlier segments.
struct Identities {
  struct OfProcess {
    uint32_t row, id;
    Losses losses;
  };
  std::vector<OfProcess> processes;
  std::vector<std::pair<uint32_t, uint32_t>> threads;
};
void encode(const Identities& identities, ColumnWriter* out);
// Sets the ids of the rows in `recording`, and its earlier losses. False, and nothing is set, when
// the payload is invalid. Lost rows have no id.
bool decode_identities(std::span<const uint8_t> payload, Recording* recording);

void encode(const Rates& rates, ColumnWriter* out);
// Appends. False, and `rates` unchanged, when the payload is invalid.
bool decode_rates(std::span<const uint8_t> payload, Rates* rates);

}  // namespace sampan::recording
