#include "preload/samples/sampling_switch.h"

#include <atomic>

#include "preload/process/process.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

std::atomic<uint32_t> open_sections;  // of all threads

std::atomic<uint32_t>& paused() {
  return wire::control_block(this_process.shared)->paused;
}

std::atomic<uint32_t>& sections_of(SampleState* thread) {
  return thread != nullptr ? thread->open_sections : open_sections;
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

void section_started(SampleState* thread) {
  sections_of(thread).fetch_add(1, std::memory_order_relaxed);
}

void section_stopped(SampleState* thread) {
  sections_of(thread).fetch_sub(1, std::memory_order_relaxed);
}

void sections_closed_by_fork(SampleState* survivor) {
  open_sections.store(0, std::memory_order_relaxed);
  if (survivor != nullptr) survivor->open_sections.store(0, std::memory_order_relaxed);
}

bool sampling_on(const SampleState& thread) {
  if (sampling_paused()) return false;
  return !this_process.sections_only || open_sections.load(std::memory_order_relaxed) != 0 ||
         thread.open_sections.load(std::memory_order_relaxed) != 0;
}

void leave_out(SampleState& thread, uint64_t cpu_ns, uint64_t estimate_ns) {
  const uint64_t before = thread.last_cpu_ns.load(std::memory_order_relaxed);
  uint64_t used = 0;
  if (cpu_ns == 0) {
    used = estimate_ns;
  } else if (cpu_ns > before) {
    used = cpu_ns - before;
    thread.last_cpu_ns.store(cpu_ns, std::memory_order_relaxed);
  }
  thread.left_out_ns += used;
  std::atomic<uint64_t>& all = wire::thread_slot(this_process.shared, thread.slot)->left_out_ns;
  all.store(all.load(std::memory_order_relaxed) + used, std::memory_order_relaxed);
}

}  // namespace sampan::preload
