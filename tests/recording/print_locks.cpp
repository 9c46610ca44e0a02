// Prints the waits for locks of a recording as JSON, for tests: print_locks RECORDING
#include <fmt/core.h>

#include <string>

#include "recording/reader.h"

namespace {

using namespace sampan;
using recording::kNone;
using recording::Recording;

// Frames as "path+0x1234", leaf first.
std::string frame(const Recording& all, uint32_t row) {
  if (row == kNone) return "null";
  const recording::Frame& its = all.frames[row];
  const std::string path = its.module == kNone ? "" : all.modules[its.module].path;
  return fmt::format("\"{}+{:#x}\"", path, its.address);
}
std::string stack(const Recording& all, uint32_t row) {
  std::string text;
  for (; row != kNone; row = all.stacks[row].prefix) {
    text += (text.empty() ? "" : ", ") + frame(all, all.stacks[row].frame);
  }
  return "[" + text + "]";
}
int32_t tid(const Recording& all, uint32_t thread) {
  return thread == kNone ? 0 : all.threads[thread].tid;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const Recording all = recording::read(words[1]);
  uint64_t lost = 0;
  for (const recording::Losses& losses : all.losses) {
    lost = std::max(lost, losses.count[static_cast<size_t>(wire::Loss::kLockWaitLost)]);
  }
  fmt::print("{{\"lost\": {}, \"waits\": [", lost);
  const char* separator = "\n";
  for (const recording::LockWait& wait : all.lock_waits) {
    const recording::Lock& lock = all.locks[wait.lock];
    fmt::print(
        "{}{{\"thread\": {}, \"kind\": {}, \"begin_ns\": {}, \"duration_ns\": {}, \"limit_ns\": "
        "{}, \"woken_ns\": {}, "
        "\"lock\": {}, \"lock_frame\": {}, \"origin\": {}, \"holder\": {}, \"waker\": {}, "
        "\"stack\": {}, "
        "\"holder_stack\": {}, \"waker_stack\": {}}}",
        separator, tid(all, wait.thread), static_cast<int>(wait.kind), uint64_t{wait.begin_ns},
        wait.duration_ns, wait.limit_ns, uint64_t{wait.woken_ns}, lock.address,
        frame(all, lock.frame), frame(all, lock.origin), tid(all, wait.holder),
        tid(all, wait.waker), stack(all, wait.stack), stack(all, wait.holder_stack),
        stack(all, wait.waker_stack));
    separator = ",\n";
  }
  fmt::print("]}}\n");
}
