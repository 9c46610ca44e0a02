// What a Writer records besides samples.
#include <optional>
#include <utility>

#include "recording/writer_state.h"

namespace sampan::recording {

void Writer::keep_living() {
  state_->kept.emplace();
}

void Writer::add(const WatchChange& change) {
  WatchChange row = change;
  row.process = state_->process(change.process);
  state_->file->add(row);
  if (auto* known = state_->processes.find(change.process)) {
    known->watched[static_cast<size_t>(change.what)] = change;
  }
}

void Writer::add(const Allocation& allocation) {
  Allocation row = allocation;
  row.thread = state_->thread(allocation.thread);
  state_->file->add(row);
  const uint32_t process = state_->kept ? state_->living_process(allocation.thread) : kNone;
  if (process != kNone) state_->blocks.add(process, allocation);
}

void Writer::add(const Free& free) {
  Free row = free;
  row.thread = state_->thread(free.thread);
  state_->file->add(row);
  const uint32_t process = state_->kept ? state_->living_process(free.thread) : kNone;
  if (process != kNone) state_->blocks.free(process, free.id);
}

uint32_t Writer::add(const Lock& lock) {
  SessionLock its{lock, {}, {}};
  if (state_->kept) {
    its.frame = state_->kept->frame(lock.frame);
    its.origin = state_->kept->frame(lock.origin);
  }
  Lock row = lock;
  row.process = state_->process(lock.process);
  const uint32_t index = state_->locks.add(std::move(its), state_->file->add(row));
  if (auto* known = state_->processes.find(lock.process)) known->locks.push_back(index);
  return index;
}

void Writer::add(const LockWait& wait) {
  LockWait row = wait;
  row.thread = state_->thread(wait.thread);
  row.lock = state_->lock(wait.lock);
  row.holder = state_->thread(wait.holder);
  row.waker = state_->thread(wait.waker);
  state_->file->add(row);
}

void Writer::write_living(KeptStacks& before) {
  for (const auto& [process, block] : state_->blocks.rows()) {
    block->thread = state_->known_thread(block->thread, process);
    block->stack = before.copy(block->stack, *this);
    block->earlier = true;
    Allocation row = *block;
    row.thread = state_->thread(block->thread);
    state_->file->add(row);
  }
}

}  // namespace sampan::recording
