// The file format of a recording, version 8. This comment is its specification; docs/recording.md
// has the reasons and the measurements.
//
// A file is a header followed by blocks, each appended with one write(2). Bytes once written never
// change, so a recording is readable at any moment. When its writer dies, only what was not yet
// written is lost: about a second. Integers are little-endian.
//
//   file    char[6] "SAMPAN", u16 version, block...
//   block   u32 magic "SBLK", u32 type, u32 stored_size, u32 raw_size, u64 checksum,
//           stored_size bytes
//
// `checksum` is XXH3-64 of the stored bytes, seeded with XXH3-64 of the 16 bytes before it. The
// stored bytes are one zstd frame of `raw_size` bytes or, when the sizes are equal, the bytes
// themselves. raw_size is at most kMaxExpansion times stored_size, so a small file cannot ask for
// much memory. Each block is compressed on its own, so a damaged block loses only its own rows.
//
// A reader cuts a torn tail at the last whole block, and continues after a damaged block at the
// next one whose checksum is right. It also reads version 2 (no kOrigins), 3 (no kMarkers), 4 (no
// kSegment, kIdentities, kJitNames, start_monotonic_ns), 5 (no kRates), 6 (no columns of names)
// and 7 (kRows end with the losses); it refuses others.
//
// Payloads. `uleb` and `zigzag` are those of base/byte_writer.h, `string` is uleb size and bytes,
// `ref` is a row's index plus one, 0 for none; `maybe x` is u8 0, or u8 1 and x.
//
//   kSession  string program, uleb count, string command[count], string host, string kernel,
//             string sampan_version, uleb start_unix_ns, uleb rate_hz, uleb kernel_hz,
//             string clock, string engine, uleb start_monotonic_ns,
//             uleb cpus: of the machine, 0 if not known,
//             string unit: what the weights of samples count, "" for time,
//             uleb count, { string name, string value } each: labels,
//             maybe uleb clock_error: of start_unix_ns, at most.
//             Files of older programs end before start_monotonic_ns, cpus, unit or the labels.
//   kOrigins  uleb count, { string label, string host, string program, uleb start_unix_ns,
//             uleb processes } each: the recordings that were merged. Rows of processes belong to
//             them in this order, `processes` to each.
//   kSegment  uleb number, uleb begin, uleb earlier_cpu: the session has several files; this is
//             number `number`, from 0, and begins at that time. `earlier_cpu` is the CPU of all
//             ends of processes in the earlier files. The first file may lack this block. In each
//             file, the CPU of an end counts from the begin of the file, or of the process or
//             thread if that is later. Those that continue in the next file have an end here, too,
//             at the time of the file's end.
//   kIdentities
//             uleb count, { uleb process, uleb id, uleb counters, uleb value[counters] } each,
//             uleb count, { uleb thread, uleb id } each: rows with the same id in files of one
//             session are the same process or thread; in the first file the id is the row's index.
//             The counters are its losses when the file began: those in kRows continue from there.
//   kRates    uleb count, { uleb time, uleb rate_hz, u8 1: by the governor } each,
//             uleb count, { uleb time, uleb target, uleb in_target, uleb recorder } each: the rate
//             from a time on, and the cost of sampling up to a time, in CPU since the session's
//             start (RateChange and Cost of base/session.h). Files after the first one of a session begin
//             with the rate and the cost at their begin.
//   kEnd      uleb time, maybe zigzag exit_status, maybe zigzag exit_signal, uleb user_cpu,
//             uleb system_cpu, string note, maybe uleb instructions, uleb sampling_clocks
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
//                   In a chain, each stack is the prefix of the next. The prefix of its first
//                   stack is `distance` rows before it; 0: it has none.
//     waits         uleb count, { string call, string object } each
//     samples       uleb count, uleb runs, { uleb thread, ref wait, uleb length } each run,
//                   uleb first_time, uleb usual_weight,
//                   zigzag stack[count]: ref minus the ref before,
//                   zigzag weight[count]: minus usual_weight,
//                   zigzag time[count]: minus weight, minus the time before in this run
//                   (at the start of a run: first_time),
//                   uleb incomplete, { uleb distance, u8 stop } each: samples whose stack did not
//                   reach the root; `distance` is the number of samples that did since the last
//                   such one. Weights of samples are in microseconds; their times, and the weight
//                   that is subtracted from them, in units of ten microseconds; all others in
//                   nanoseconds.
//     losses        uleb count, { ref process, uleb counters, uleb value[counters] } each
//     The others are there only if any of them has rows. Their times are in nanoseconds.
//     contexts      uleb count, { u8 trace[16], u8 span[8], u8 parent[8] } each: ids of W3C Trace
//                   Context, zeros: none; `parent` is a span of another service. If there are any,
//                   uleb runs, { ref context, uleb samples } each run of the block's samples. The
//                   contexts are the block's own: a lost block loses only its own.
//     uleb locks before this block
//     watch changes uleb count, { uleb process, uleb time, u8 Watched, uleb setting } each
//     allocations   uleb count, uleb thread[count], ref stack[count], zigzag time[count] - the time
//                   before, zigzag id[count] - the id before, uleb size[count], uleb mean[count],
//                   u8 AllocationKind * 16 + StopReason [count], and 128 if it is of before the file:
//                   files after the first one of a session begin with the blocks that live
//     frees         uleb count, uleb thread[count], ref stack[count], zigzag time[count] - the time
//                   before, zigzag id[count] - the id before, u8 StopReason[count]
//     locks         uleb count, { uleb process, uleb address, ref frame, ref origin, u8 LockKind }
//                   each
//     lock waits    uleb count, { uleb thread, ref stack, zigzag begin - the begin before, uleb
//                   duration, uleb limit, uleb lock, u8 LockKind * 16 + StopReason, ref holder,
//                   ref holder's stack, ref waker, ref waker's stack, zigzag woken - begin } each
//
//   kMarkers  what the program reported (base/markers.h). Columns as above; `text` is an index into
//             the block's own texts plus one, 0 for "", so a lost block loses only its own rows.
//
//     uleb rows before this block: processes, threads
//     texts         uleb count, string[count]
//     spans         uleb count, zigzag thread[count] - the thread before, zigzag begin[count] - the
//                   begin before, uleb duration[count], zigzag id[count] - the id before,
//                   zigzag parent[count] - the parent before, text name[count], text value[count],
//                   zigzag end_thread[count] - thread, u8 how[count]: SpanKind * 16 + Closed
//     events        uleb count, zigzag thread[count] - the thread before,
//                   zigzag time[count] - the time before, text name[count], text value[count]
//     counters      uleb count, zigzag thread[count], zigzag time[count], text name[count] as of
//                   events, u64 value[count]: the bits of a finite double
//     sections      uleb count, { uleb begin, uleb duration, uleb process, ref thread, text name,
//                   u8 Closed } each
//     pauses        uleb count, { uleb begin, uleb duration, uleb process } each
//     labels        uleb count, { uleb time, uleb process, ref thread, text label,
//                   maybe zigzag order } each
//     steps         only if there are any: uleb count, zigzag thread[count] - the thread before,
//                   zigzag begin[count] - the begin before, uleb duration[count],
//                   zigzag id[count] - the id before, zigzag task[count] - the task before,
//                   text name[count], text coroutine[count], u8 StepKind[count]
//
//   kNames    names of frames (names.h), after the rows of these frames and often after kEnd: frames
//             of an interpreter have their names at once, others when they are symbolized. For a
//             frame, the last block that names it counts.
//
//     texts         uleb count, string[count]; the first is ""
//     functions     uleb count, { uleb name, uleb file, uleb line, ref module } each; name and file
//                   are texts of the block
//     frames        uleb count, { zigzag frame - the frame before, uleb lines,
//                   { uleb function, uleb file, uleb line } each line } each
//     columns       only if any is known: uleb column[lines of all frames], from 1; 0: unknown
//
//   kJitNames names of code that was made at run time (names.h), after the rows of these frames:
//             what a process told debuggers is written at once, what it wrote for perf often after
//             kEnd, when names are looked up. The last of the rows with the same process, frame
//             and time counts.
//
//     texts         uleb count, string[count]
//     names         uleb count, { uleb process, zigzag frame - the frame before, uleb from,
//                   uleb text of the block } each
//
// Differences wrap around at 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampan::recording {

inline constexpr char kFileMagic[6] = {'S', 'A', 'M', 'P', 'A', 'N'};
inline constexpr uint16_t kVersion = 8;
inline constexpr uint16_t kOldestVersion = 2;       // that is read
inline constexpr uint16_t kNamesVersion = 4;        // the oldest that has kNames
inline constexpr uint16_t kJitNamesVersion = 5;     // and kJitNames
inline constexpr uint16_t kNameColumnsVersion = 7;  // and columns in kNames

struct FileHeader {
  char magic[6];
  uint16_t version;
};
static_assert(sizeof(FileHeader) == 8);

inline constexpr uint32_t kBlockMagic = 0x4b4c4253;  // "SBLK"

enum class BlockType : uint32_t {
  kSession = 1,
  kRows = 2,
  kEnd = 3,
  kOrigins = 4,
  kMarkers = 5,
  kNames = 6,
  kSegment = 7,
  kIdentities = 8,
  kJitNames = 9,
  kRates = 10,
};

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
