#include "preload/sampling_switch.h"

#include <atomic>

#include "preload/clock.h"
#include "preload/process.h"
#include "preload/threads.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

std::atomic<uint32_t> open_sections;  // of all threads

std::atomic<uint32_t>& paused() {
  return wire::control_block(this_process.shared)->paused;
}

std::atomic<uint32_t>* counter(bool calling_thread_only) {
  if (!calling_thread_only) return &open_sections;
  ThreadState* thread = current_thread();
  return thread != nullptr ? &thread->open_sections : nullptr;
}

}  // namespace

void pause_sampling() {
  paused().store(1, std::memory_order_relaxed);
}

void resume_sampling() {
  paused().store(0, std::memory_order_relaxed);
}

bool sampling_paused() {
  return paused().load(std::memory_order_relaxed) != 0;
}

void section_started(bool calling_thread_only) {
  if (auto* open = counter(calling_thread_only)) open->fetch_add(1, std::memory_order_relaxed);
}

void section_stopped(bool calling_thread_only) {
  if (auto* open = counter(calling_thread_only)) open->fetch_sub(1, std::memory_order_relaxed);
}

void sections_closed_by_fork(ThreadState* survivor) {
  open_sections.store(0, std::memory_order_relaxed);
  if (survivor != nullptr) survivor->open_sections.store(0, std::memory_order_relaxed);
}

bool sampling_on(const ThreadState& thread) {
  if (sampling_paused()) return false;
  return !this_process.sections_only || open_sections.load(std::memory_order_relaxed) != 0 ||
         thread.open_sections.load(std::memory_order_relaxed) != 0;
}

void leave_out(ThreadState& thread, uint64_t cpu_ns, uint16_t ticks) {
  const uint64_t before = thread.last_cpu_ns.load(std::memory_order_relaxed);
  uint64_t used = 0;
  if (cpu_ns == 0) {
    used = ticks * period_ns(thread);
  } else if (cpu_ns > before) {
    used = cpu_ns - before;
    thread.last_cpu_ns.store(cpu_ns, std::memory_order_relaxed);
  }
  thread.left_out_ns += used;
  std::atomic<uint64_t>& all = wire::thread_slot(this_process.shared, thread.slot)->left_out_ns;
  all.store(all.load(std::memory_order_relaxed) + used, std::memory_order_relaxed);
}

}  // namespace sampan::preload
