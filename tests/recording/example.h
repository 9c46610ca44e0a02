// A small recording with a row in every table.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "recording/reader.h"
#include "recording/writer.h"
#include "support/scratch_directory.h"

namespace sampan::recording {

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Session example_session() {
  return {.program = "zstd",
          .command = {"zstd", "-T2", "big file"},
          .host = "box",
          .kernel = "6.18.0",
          .sampan_version = "0.1.0",
          .start_unix_ns = 1'700'000'000'123'456'789,
          .rate_hz = 1000,
          .kernel_hz = 250,
          .cpus = 12,
          .clock = "cpu",
          .engine = "preload"};
}

inline TraceContext example_context(int i) {
  return {{1, 2, static_cast<uint8_t>(i)}, {3, 4}, {static_cast<uint8_t>(i % 2)}};
}

// Samples of two threads that go back and forth between `flushes` blocks of four samples each.
inline void write_example(Writer& writer, int flushes) {
  const uint32_t process = writer.add(Process{4711, 1, 10, "/usr/bin/zstd"});
  const uint32_t main = writer.add(Thread{process, 4711, 10, "zstd"});
  const uint32_t worker = writer.add(Thread{process, 4712, 20, "zstd"});
  writer.add(ThreadName{worker, 30, "worker #1"});
  const uint32_t program = writer.add(Module{"/usr/bin/zstd", {1, 2, 0xff}, 0x1000, 0x9000});
  const uint32_t library = writer.add(Module{"/lib/libc.so.6", {}, 0, 0x1c0000});
  for (int i = 0; i < flushes; ++i) {
    const auto now = SessionNs::at(4'000'000 * (static_cast<uint64_t>(i) + 1));
    const Frame frames[] = {{library, 0x1234 + static_cast<uint64_t>(i)},
                            {program, 0x2000 + 16 * static_cast<uint64_t>(i % 3)},
                            {program, 0x1100}};
    writer.add(Sample{main, writer.stack(frames), now, 4'000'000, wire::StopReason::kRoot, kNone,
                      writer.context(example_context(i))});
    const Frame unknown[] = {{kNone, UINT64_MAX - 1}, frames[2]};
    writer.add(
        Sample{worker, writer.stack(unknown), now - 70'000, 3'999'000, wire::StopReason::kNoRule});
    writer.add(Sample{main, kNone, now + 10'000, 0, wire::StopReason::kBadAddress});
    const uint32_t wait = writer.wait({"read", i % 2 == 0 ? "pipe:[4711]" : ""});
    writer.add(Sample{worker, writer.stack(unknown), now + 20'000, 50'000'000, {}, wait});
    Losses losses{.process = process};
    losses.count[0] = static_cast<uint64_t>(i);
    writer.add(losses);
    writer.add(WatchChange{process, now, Watched::kHeap, 512 << 10});
    const auto id = static_cast<uint64_t>(i) + 1;
    const uint32_t stack = writer.stack(frames);
    writer.add(Allocation{main, stack, now, id, 100, 512 << 10});
    writer.add(Allocation{main, kNone, now + 5, 1000 + id, 1 << 20, 512 << 10,
                          AllocationKind::kMapping, wire::StopReason::kNoRule, true});
    writer.add(Free{worker, stack, now + 7, id, wire::StopReason::kNoRule});
    const uint32_t lock =
        writer.add(Lock{process, 0x7000 + 16 * id, writer.frame({program, 0x8000}),
                        writer.frame({program, 0x1200}), LockKind::kWriteLock});
    writer.add(LockWait{worker, stack, now + 9, 3000, 10'000, lock, LockKind::kReadLock,
                        wire::StopReason::kNoRule, main, stack, main, kNone, now + 3000});
    writer.flush();
  }
  writer.add(ThreadEnd{worker, 900, 123'456});
  writer.add(ThreadEnd{main, 950, {}});
  writer.add(ProcessEnd{process, 1000, 987'654, {}, 9, true});
}

inline SessionEnd example_end() {
  return {.time_ns = 5'000'000'000,
          .exit_status = 3,
          .exit_signal = {},
          .user_cpu_ns = 77,
          .system_cpu_ns = 78,
          .note = "all well",
          .instructions = 79};
}

}  // namespace sampan::recording
