#include "preload/process/process.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "base/byte_writer.h"
#include "base/clock.h"
#include "base/syscall.h"
#include "preload/support/spin_lock.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

// The longest wait: a signal handler of the program may have interrupted the lock's holder.
constexpr unsigned kLockYields = 10'000;
SpinLock lock;
wire::RingWriter ring;

bool write(wire::RecordType type, std::span<const uint8_t> fields, std::span<const char> text) {
  if (!lock.lock_for(kLockYields)) return false;
  const std::span<uint8_t> room = ring.begin(sizeof(uint64_t) + fields.size() + text.size());
  if (!room.empty()) {
    ByteWriter writer(room);
    writer.fixed(monotonic_ns());
    writer.bytes(fields.data(), fields.size());
    writer.bytes(text.data(), text.size());
    ring.commit(static_cast<uint8_t>(type), writer.size());
  }
  lock.unlock();
  return !room.empty();
}

}  // namespace

constinit Process this_process{};

bool active() {
  if (!this_process.started.load(std::memory_order_acquire)) return false;
  if (*this_process.fork_marker == 0) this_process.join_in_child();
  return this_process.started.load(std::memory_order_relaxed);
}

bool in_vfork_child() {
  return *this_process.fork_marker != 0 && raw_syscall(SYS_getpid) != this_process.pid;
}

bool under_filter() {
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return true;
  if (this_process.born_filtered ||
      raw_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER) {
    return false;
  }
  this_process.unseen_filter.store(true);
  this_process.seccomp_filtered.store(true);
  return true;
}

void count_loss(wire::Loss loss, uint64_t count) {
  if (!this_process.started.load(std::memory_order_relaxed)) return;
  wire::control_block(this_process.shared)
      ->losses[static_cast<size_t>(loss)]
      .fetch_add(count, std::memory_order_relaxed);
}

void start_process_ring() {
  lock.unlock();
  wire::ControlBlock* control = wire::control_block(this_process.shared);
  ring = {&control->process_ring, wire::process_ring_buffer(this_process.shared)};
}

bool write_process_record(wire::RecordType type, std::span<const uint8_t> fields,
                          std::span<const char> text, wire::Loss loss) {
  bool written = false;
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    written = write(type, fields, text);
  } else {
    const SignalsBlocked blocked;
    written = write(type, fields, text);
  }
  if (!written) count_loss(loss);
  return written;
}

}  // namespace sampan::preload
