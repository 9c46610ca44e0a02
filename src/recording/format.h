// The file format of a recording, version 3. This comment is its specification; docs/recording.md
// has the reasons and the measurements.
//
// A file is a header and blocks, appended one after the other, each in one write(2). Nothing that
// has been written is changed, so a recording is readable at any moment, and the loss of its writer
// costs what had not been written: about a second. Integers are little-endian.
//
//   file    char[6] "SAMPAN", u16 version, block...
//   block   u32 magic "SBLK", u32 type, u32 stored_size, u32 raw_size, u64 checksum,
//           stored_size bytes
//
// `checksum` is XXH3-64 of the stored bytes, seeded with XXH3-64 of the 16 bytes before it. The
// stored bytes are one zstd frame of `raw_size` bytes, or, where the sizes are equal, the bytes
// themselves. raw_size is at most kMaxExpansion times stored_size: a small file cannot ask for much
// memory. Each block is compressed on its own: a damaged one costs its own rows only.
//
// A reader cuts a torn tail at the last whole block, and goes on behind a damaged block at the next
// one whose checksum fits. Version 2, which has no kOrigins, is read too; others are refused.
//
// Payloads. `uleb` and `zigzag` are those of base/byte_writer.h, `string` is uleb size and bytes,
// `ref` is a row's index plus one, 0 for none; `maybe x` is u8 0, or u8 1 and x.
//
//   kSession  string program, uleb count, string command[count], string host, string kernel,
//             string sampan_version, uleb start_unix_ns, uleb rate_hz, uleb kernel_hz,
//             string clock, string engine
//   kOrigins  uleb count, { string label, string host, string program, uleb start_unix_ns,
//             uleb processes } each: the recordings that a merged one was made of. Rows of
//             processes belong to them in this order, `processes` to each.
//   kEnd      uleb time, maybe zigzag exit_status, maybe zigzag exit_signal, uleb user_cpu,
//             uleb system_cpu, string note
//   kRows     the new rows of all tables (tables.h). A row's index counts from the start of the
//             file, and refers to rows of lower index or of tables further up in this list:
//
//     uleb rows before this block: processes, threads, modules, frames, stacks, waits
//     processes     uleb count, { zigzag pid, zigzag parent, uleb start, string name } each
//     process ends  uleb count, { uleb process, uleb time, maybe uleb cpu, maybe zigzag status,
//                   maybe zigzag signal, u8 how } each: 1 replaced by exec, 2 it lives on
//     threads       uleb count, { uleb process, zigzag tid, uleb start, string name } each
//     thread names  uleb count, { uleb thread, uleb time, string name } each
//     thread ends   uleb count, { uleb thread, uleb time, maybe uleb cpu } each
//     modules       uleb count, { string path, string build_id, uleb svma_begin, uleb svma_end }
//     frames        uleb count, ref module[count], zigzag address[count] - the address before
//     stacks        uleb count, uleb chains, uleb length[chains], uleb distance[chains],
//                   uleb frame[count]
//                   A chain is stacks of which each is the next one's prefix. The prefix of its
//                   first lies `distance` rows before it; 0: it has none.
//     waits         uleb count, { string call, string object } each
//     samples       uleb count, uleb runs, { uleb thread, ref wait, uleb length } each run,
//                   uleb first_time, uleb usual_weight,
//                   zigzag stack[count]: ref minus the ref before,
//                   zigzag weight[count]: minus usual_weight,
//                   zigzag time[count]: minus weight, minus the time before in this run
//                   (at the start of a run: first_time),
//                   uleb incomplete, { uleb distance, u8 stop } each: stacks that did not reach the
//                   root, and how many samples that did are before each since the one before it
//                   Weights of samples are in microseconds, times in ten microseconds (and so is
//                   the weight that is taken from them); all others are in nanoseconds.
//     losses        uleb count, { ref process, uleb counters, uleb value[counters] } each
//
// Differences wrap around at 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampan::recording {

inline constexpr char kFileMagic[6] = {'S', 'A', 'M', 'P', 'A', 'N'};
inline constexpr uint16_t kVersion = 3;
inline constexpr uint16_t kOldestVersion = 2;  // that is read

struct FileHeader {
  char magic[6];
  uint16_t version;
};
static_assert(sizeof(FileHeader) == 8);

inline constexpr uint32_t kBlockMagic = 0x4b4c4253;  // "SBLK"

enum class BlockType : uint32_t { kSession = 1, kRows = 2, kEnd = 3, kOrigins = 4 };

struct BlockHeader {
  uint32_t magic;
  uint32_t type;
  uint32_t stored_size;
  uint32_t raw_size;
  uint64_t checksum;
};
static_assert(sizeof(BlockHeader) == 24);

inline constexpr uint64_t kWeightUnit = 1000;  // ns, of samples
inline constexpr uint64_t kTimeUnit = 10'000;  // ns, of samples

inline constexpr size_t kMaxRawSize = size_t{1} << 26;
inline constexpr size_t kMaxExpansion = 32;

}  // namespace sampan::recording
