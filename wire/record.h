// The records of the rings, and how their payloads are laid out. Integers are little-endian; `uleb`
// and `zigzag` are those of base/byte_writer.h. Times are CLOCK_MONOTONIC nanoseconds, CPU times
// nanoseconds of the thread's own CPU clock.
//
// Thread ring, written by the thread itself (or on its behalf, when it is known to be gone):
//
//   kThreadStart  u32 tid, u64 time, u64 cpu, char name[16]
//                 `cpu` is what the thread had used when sampling began. Forgets the previous
//                 stack.
//   kSample       u64 time, u64 cpu, u16 ticks, u8 StopReason, u8 flags,
//                 with kSampleAfterGap u64 left_out, uleb shared, uleb fresh, then `fresh` frames
//                 as zigzag(frame - frame before), the first against 0 Frames are lookup AVMAs (see
//                 base/address.h), leaf first. The stack is the fresh frames, then the last
//                 `shared` (root-side) frames of the thread's previous stack. `cpu` is 0 when the
//                 clock could not be read (seccomp): weigh by `ticks` then. `left_out` is CPU since
//                 the thread's previous sample, in which sampling was off. `shared` is 0 regularly,
//                 and in the first sample after a drop.
//   kThreadEnd    u64 time, u64 cpu (0: not known), u64 left_out, in all
//
// Process ring, written by any thread of the process under a lock, in ordinary context:
//
//   kModuleLoad   u64 time, u64 bias, u64 start, u64 end (AVMAs), u8 build_id_size, build-id,
//                 then the path up to the end of the payload
//   kModuleUnload u64 time, u64 bias, u64 start
//   kThreadName   u64 time, u32 tid, char name[16]
//   kThreadCpu    u64 time, u32 tid, u64 cpu: a thread's CPU clock, read by another thread on the
//                 way out of the process
//   kExec         u64 time, path: this image is about to be replaced
//   kExecFailed   u64 time
//   kExit         u64 time, i32 status: exit, _exit, quick_exit
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampan::wire {

enum class RecordType : uint8_t {
  kThreadStart = 1,
  kSample = 2,
  kThreadEnd = 3,
  kModuleLoad = 16,
  kModuleUnload = 17,
  kThreadName = 18,
  kThreadCpu = 19,
  kExec = 20,
  kExecFailed = 21,
  kExit = 22,
};

// Sample flags.
inline constexpr uint8_t kSampleFromPerf = 1;  // taken by the perf clock, not the CPU timer
inline constexpr uint8_t kSampleAfterGap = 2;  // sampling was off since the one before

// As the kernel's TASK_COMM_LEN: always zero-terminated.
inline constexpr size_t kThreadNameSize = 16;
// A frame without a place: the CPU of a thread that ended before it could be sampled. Its caller is
// the function that the thread was made for.
inline constexpr uint64_t kShortThread = UINT64_MAX;
// The deepest stack that is recorded.
inline constexpr size_t kMaxFrames = 2048;
// A full stack at least once in so many samples.
inline constexpr unsigned kFullStackInterval = 256;
inline constexpr size_t kMaxPath = 4096;

}  // namespace sampan::wire
