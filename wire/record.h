// The records of the rings and the layout of their payloads. Integers are little-endian; `uleb`
// and `zigzag` are those of base/byte_writer.h. Times are CLOCK_MONOTONIC nanoseconds, CPU times
// nanoseconds of the thread's own CPU clock.
//
// Thread ring, written by the thread itself (or on its behalf, when it is known to have ended):
//
//   kThreadStart  u32 tid, u64 time, u64 cpu, char name[16]
//                 `cpu` is what the thread had used when sampling began. There is no previous stack
//                 from here on.
//   kSample       u64 time, u64 cpu, u16 ticks, u8 StopReason, u8 flags,
//                 with kSampleAfterGap u64 left_out, with kSampleInStep u8 StepKind, u8 task,
//                 u64 step, with kSampleNewTrace a TraceContext (wire/trace_context.h), uleb shared, uleb fresh, then `fresh` frames
//                 as zigzag(frame - frame before), the first against 0. Frames are lookup AVMAs
//                 (base/address.h), leaf first. The stack is the fresh frames, then the last
//                 `shared` (root-side) frames of the thread's previous stack. `cpu` is 0 when the
//                 clock could not be read (seccomp): then `ticks` is the weight. `left_out` is CPU
//                 since the thread's previous sample during which sampling was off. `shared` is 0
//                 regularly, and in the first sample after a drop. `step` is the same for all samples
//                 of one step of the thread's event loop and for no others; 0: not known. `task` is
//                 a number of kPythonTask; 0: none. A sample with kSampleInTrace has the context of the
//                 latest sample with kSampleNewTrace, which has both flags; at least one in
//                 kFullStackInterval has it anew.
//   kThreadEnd    u64 time, u64 cpu (0: not known), u64 left_out, in all
//   kAllocation   u64 time, u64 id, u64 size, u64 mean, u8 AllocationKind, then a stack: u8 StopReason,
//                 uleb shared, uleb fresh, frames as of kSample. The stack before is that of the
//                 thread's latest record with a stack. An allocation that was drawn; `mean` is the
//                 mean number of bytes between two draws. `id` is unique in the process.
//   kFree         u64 time, u64 id of a kAllocation, then a stack
//   kLockWait     u64 begin, u64 end, u64 limit, u64 lock, u8 LockKind, u64 first, u64 last,
//                 then a stack. A wait for a lock or an event that was drawn: one of at least `limit`
//                 ns always, a shorter one with probability (end - begin) / limit. `lock` is an
//                 address. `first`, `last`: the numbers of the first and the last release of the lock
//                 while the thread waited; 0: there was none. The first was by who held the lock when the
//                 wait began, the last one has ended it.
//   kRelease      u64 time, u64 number, u64 lock, then a stack: the thread has released a lock, or
//                 signalled an event, that others waited for. Its number is unique in the process. The
//                 numbers of one lock grow. Some are of no record: where a lock is released very often while
//                 others wait, and of the arrivals at a barrier all but the last.
//   kLockOrigin   u64 time, u64 lock, u8 LockKind, u64 caller: the lock of the next kLockWait was initialised
//                 by the code at the lookup AVMA `caller`. Once, before the first wait for it.
//   kPythonCode   u32 number, i32 first line, then three times u8 width, u16 size, bytes: the
//                 qualified name, the file, the line table. `width`: bytes of a character; 0: ASCII;
//                 of the table, its PythonLineTable, or kNoLineTable. python_frame() has the
//                 number, in all threads of the process.
//   kPythonTask   u8 number, u64 id, then twice u8 width, u16 size, bytes, as of kPythonCode: the
//                 name of an asyncio task, and the qualified name of its coroutine; both may be
//                 empty. From here on, the samples of this thread mean it by the number, which is 1
//                 to kTaskNumbers. `id` is the same for the same task.
//
// Process ring, written by any thread of the process under a lock, in ordinary context:
//
//   kModuleLoad   u64 time, u64 bias, u64 start, u64 end (AVMAs), u8 build_id_size, build-id,
//                 then the path up to the end of the payload
//   kModuleUnload u64 time, u64 bias, u64 start
//   kThreadName   u64 time, u32 tid, char name[64]
//   kThreadCpu    u64 time, u32 tid, u64 cpu: a thread's CPU clock, read by another thread when the
//                 process ends
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
  kPythonCode = 4,
  kPythonTask = 5,
  kAllocation = 6,
  kFree = 7,
  kLockWait = 8,
  kRelease = 9,
  kLockOrigin = 10,
  kModuleLoad = 16,
  kModuleUnload = 17,
  kThreadName = 18,
  kThreadCpu = 19,
  kExec = 20,
  kExecFailed = 21,
  kExit = 22,
};

// By what memory was allocated.
enum class AllocationKind : uint8_t {
  kHeap = 0,     // malloc and its relatives, operator new
  kMapping = 1,  // mmap of anonymous memory
};
inline constexpr unsigned kAllocationKindCount = 2;

// What a thread waits for by a function of the C library.
enum class LockKind : uint8_t {
  kMutex = 0,
  kReadLock = 1,   // of a read-write lock
  kWriteLock = 2,  // of the same
  kCondition = 3,
  kSemaphore = 4,
  kBarrier = 5,
  kSpinLock = 6,
};
inline constexpr unsigned kLockKindCount = 7;

// Sample flags.
inline constexpr uint8_t kSampleFromPerf = 1;  // taken by the perf clock, not the CPU timer
inline constexpr uint8_t kSampleAfterGap =
    2;                                        // sampling was off for a time since the sample before
inline constexpr uint8_t kSampleInStep = 4;   // its thread's event loop was running a callback
inline constexpr uint8_t kSampleInTrace = 8;  // its thread worked for a request
inline constexpr uint8_t kSampleNewTrace = 16;  // ... which is another one than before

// What the event loop of a thread ran: one callback is a step.
enum class StepKind : uint8_t {
  kNone = 0,
  kTask = 1,      // of a task
  kCallback = 2,  // of no task
  kUnknown = 3,   // of a task that could not be read
};
inline constexpr unsigned kStepKindCount = 4;
inline constexpr unsigned kTaskNumbers = 16;

// As the kernel's TASK_COMM_LEN: always zero-terminated.
inline constexpr size_t kThreadNameSize = 16;
// Names that an interpreter gives are longer: zero-terminated, too.
inline constexpr size_t kLongNameSize = 64;
// A frame that stands for no address: the CPU of a thread that ended before it could be sampled. Its
// caller is the function that the thread was made for.
inline constexpr uint64_t kShortThread = UINT64_MAX;
// A frame of an interpreted function: the number of its code object, and how many units of bytecode
// (2 bytes) the instruction is behind the first one, plus 1; 0: before the first one. No address of
// code has these bits.
inline constexpr uint64_t kPythonFrame = uint64_t{1} << 62;
inline constexpr uint32_t kPythonUnitBits = 24;
constexpr uint64_t python_frame(uint32_t number, uint32_t unit) {
  return kPythonFrame | uint64_t{number} << kPythonUnitBits |
         (unit & ((1u << kPythonUnitBits) - 1));
}
constexpr bool is_python_frame(uint64_t frame) {
  return frame >> 62 == 1;
}
// How a code object says which instruction is of which line.
enum class PythonLineTable : uint8_t {
  kLnotab = 1,     // 3.9: changes of the offset and of the line
  kRanges = 2,     // 3.10: ranges of the bytecode, some of no line (PEP 626)
  kLocations = 3,  // 3.11 and later: with columns (PEP 657)
};
// In place of a format: the table is not there, for the ring had no room. It may be announced later.
inline constexpr uint8_t kNoLineTable = 0;
// A longer table is cut: what it says of the instructions behind is not known.
inline constexpr size_t kMaxPythonLineTable = 8192;

// The deepest stack that is recorded.
inline constexpr size_t kMaxFrames = 2048;
// At least one in so many samples has a full stack.
inline constexpr unsigned kFullStackInterval = 256;
inline constexpr size_t kMaxPath = 4096;

}  // namespace sampan::wire
