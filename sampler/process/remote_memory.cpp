#include "sampler/process/remote_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sampler/process/proc_task.h"
#include "unwind/registers.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kPageSize = 4096;
constexpr uint64_t kMaxAddress = unwind::kEndOfUserSpace - kPageSize;
// Reads go on beyond the copy by this much; memory further away is another stack.
constexpr uint64_t kFarthest = uint64_t{8} << 20;
// So much of a copy's end is compared, to see whether the stack is unchanged.
constexpr size_t kCompared = 512;

// A leader that has ended has no memory any more. The thread that was found for it is remembered: each read asks for one.
pid_t thread_after_leader(pid_t pid) {
  static thread_local pid_t known_pid = 0, known_tid = 0;
  const bool lives =
      known_pid == pid && (syscall(SYS_tgkill, pid, known_tid, 0) == 0 || errno != ESRCH);
  if (!lives) {
    known_pid = pid;
    known_tid = living_thread(pid);
  }
  return known_tid;
}

}  // namespace

size_t read_process(pid_t pid, Avma avma, void* buffer, size_t size) {
  const iovec local{buffer, size};
  const iovec remote{reinterpret_cast<void*>(uint64_t{avma}), size};
  ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  if (done < 0 && errno == ESRCH) {
    done = process_vm_readv(thread_after_leader(pid), &local, 1, &remote, 1, 0);
  }
  return done < 0 ? 0 : static_cast<size_t>(done);
}

size_t read_stack(pid_t pid, Avma sp, std::span<std::byte> to) {
  if (const size_t copied = read_process(pid, sp - kRedZone, to.data(), to.size())) return copied;
  const std::span<std::byte> above = to.subspan(kRedZone);
  const size_t copied = read_process(pid, sp, above.data(), above.size());
  if (copied == 0) return 0;
  std::memset(to.data(), 0, kRedZone);
  return kRedZone + copied;
}

void RemoteMemory::copy_stack(pid_t pid, Avma sp, size_t size, bool live) {
  size += kRedZone;
  if (own_.size() < size) own_.resize(size);
  const size_t copied = read_stack(pid, sp, {own_.data(), size});
  pid_ = live ? pid : 0;
  part_ = false;
  low_ = sp - kRedZone;
  bytes_ = {own_.data(), copied};
  other_page_ = 0;
  truncated_ = false;
}

void RemoteMemory::use_part(pid_t pid, Avma sp, std::span<const std::byte> bytes) {
  use_copy(sp, bytes);
  pid_ = pid;
  part_ = true;
}

void RemoteMemory::use_copy(Avma low, std::span<const std::byte> bytes) {
  pid_ = 0;
  part_ = false;
  low_ = low;
  bytes_ = bytes;
  truncated_ = false;
}

uint64_t RemoteMemory::load(uint64_t avma) const {
  uint64_t value;
  std::memcpy(&value, bytes_.data() + (avma - low_), sizeof value);
  return value;
}

bool RemoteMemory::read(uint64_t avma, uint64_t& value) {
  const uint64_t end = avma + sizeof value;
  if (covers(avma, end) || extend(end)) {
    value = load(avma);
    return true;
  }
  if (pid_ != 0 && !part_) return read_elsewhere(avma, value);
  if (avma - low_ < kFarthest) truncated_ = true;
  return false;
}

// Extends the copy to `end`, and at least to twice its size.
bool RemoteMemory::extend(uint64_t end) {
  const Avma high = low_ + bytes_.size();
  if (pid_ == 0 || end <= high || end - high > kFarthest || bytes_.empty()) return false;
  if (part_ && !own_copy()) return false;
  const size_t wanted = std::max<size_t>(end - low_, 2 * bytes_.size());
  if (own_.size() < wanted) own_.resize(wanted);
  const size_t more = read_process(pid_, high, own_.data() + bytes_.size(), wanted - bytes_.size());
  bytes_ = {own_.data(), bytes_.size() + more};
  return end <= low_ + bytes_.size();
}

// Makes a copy that is not ours our own, if its end is still what the process has there.
bool RemoteMemory::own_copy() {
  std::array<std::byte, kCompared> now;
  const size_t compared = std::min(now.size(), bytes_.size());
  const std::span<const std::byte> end = bytes_.last(compared);
  const Avma end_avma = low_ + bytes_.size() - compared;
  if (read_process(pid_, end_avma, now.data(), compared) != compared ||
      !std::equal(end.begin(), end.end(), now.begin())) {
    pid_ = 0;
    return false;
  }
  if (own_.size() < bytes_.size()) own_.resize(bytes_.size());
  std::copy(bytes_.begin(), bytes_.end(), own_.begin());
  bytes_ = {own_.data(), bytes_.size()};
  part_ = false;
  return true;
}

// An address off the copied stack: on a signal's alternate stack, or on that of the code that it
// interrupted.
bool RemoteMemory::read_elsewhere(uint64_t avma, uint64_t& value) {
  const uint64_t page = avma & ~(kPageSize - 1);
  if (avma - page > kPageSize - sizeof value) {
    return read_process(pid_, Avma::at(avma), &value, sizeof value) == sizeof value;
  }
  if (page == 0 || page > kMaxAddress) return false;
  if (page != other_page_) {
    other_page_ = 0;
    if (read_process(pid_, Avma::at(page), other_.data(), other_.size()) != other_.size())
      return false;
    other_page_ = page;
  }
  std::memcpy(&value, other_.data() + (avma - page), sizeof value);
  return true;
}

bool RemoteMemory::readable(uint64_t avma) {
  if (avma < kPageSize || avma > kMaxAddress) return false;
  uint64_t value = 0;
  return pid_ == 0 || part_ || read_elsewhere(avma & ~uint64_t{7}, value);
}

}  // namespace sampan::sampler
