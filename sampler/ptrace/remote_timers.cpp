#include "sampler/ptrace/remote_timers.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kCookie = 0x73616d70616e'5054;  // "sampan"
constexpr size_t kMostMakings = 8, kMostOthers = 16;
// The first thread may go on while another makes our calls: it is so many bytes away from them.
constexpr uint64_t kDistance = 32 * 1024;
constexpr uint64_t kSearchInterval = 100'000'000;
constexpr size_t kLargestVectors = 16384;

uint64_t mask_of(const std::string& status, std::string_view key) {
  std::string_view line = line_after(status, key);
  return take_number(line, 16);
}

bool in_mask(uint64_t mask, int signal) {
  return (mask >> (signal - 1) & 1) != 0;
}

// Go's runtime handles nearly all signals. It stops its own threads by SIGURG, and tolerates one
// that comes without a reason.
bool is_go_runtime(uint64_t caught) {
  return std::popcount(caught) > 48;
}

// SIGCHLD is no choice: programs that leave it at its default action react to it, too.
int choose_signal(pid_t pid) {
  const auto status = read_whole("/proc/" + std::to_string(pid) + "/status");
  if (!status || status->empty()) return 0;
  std::string_view seccomp = line_after(*status, "Seccomp:");
  if (take_number(seccomp) != 0) return 0;
  if (line_after(*status, "x86_Thread_features:").find("shstk") != std::string_view::npos) return 0;
  const uint64_t caught = mask_of(*status, "SigCgt:");
  for (const int signal : {SIGURG, SIGWINCH}) {
    if (!in_mask(caught, signal)) return signal;
  }
  return is_go_runtime(caught) ? SIGURG : 0;
}

// The tid in the process's own pid namespace, as its system calls name threads.
pid_t own_tid(pid_t pid, pid_t tid) {
  const auto status =
      read_whole("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
  std::string_view line = line_after(status ? *status : std::string_view(), "NSpid:");
  pid_t own = tid;
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    own = static_cast<pid_t>(take_number(word));
  }
  return own;
}

// Whether rseq(2) points to a critical section under way: the kernel would not notice that the
// thread has left it.
bool in_restartable_sequence(pid_t tid) {
  struct {
    uint64_t area;
    uint32_t size, signature, flags, padding;
  } configuration{};
  constexpr int kGetRseqConfiguration = 0x420f;
  if (ptrace(static_cast<__ptrace_request>(kGetRseqConfiguration), tid, sizeof configuration,
             &configuration) <= 0 ||
      configuration.area == 0) {
    return false;
  }
  uint64_t section = 0;
  const auto place = Avma::at(configuration.area + 8);
  return read_process(tid, place, &section, sizeof section) == sizeof section && section != 0;
}

// Whether the thread's system calls become signals (prctl(2), PR_SET_SYSCALL_USER_DISPATCH). Linux 6.4
// tells.
bool dispatches_calls(pid_t tid) {
  struct {
    uint64_t mode, selector, offset, length;
  } configuration{};
  constexpr int kGetDispatchConfiguration = 0x4211;
  return ptrace(static_cast<__ptrace_request>(kGetDispatchConfiguration), tid, sizeof configuration,
                &configuration) == 0 &&
         configuration.mode != 0;
}

// Whether a seccomp filter, which may be younger than we are, might kill the thread for our calls.
bool is_filtered(pid_t tid) {
  const auto status = read_whole("/proc/" + std::to_string(tid) + "/status");
  if (!status) return true;
  std::string_view seccomp = line_after(*status, "Seccomp:");
  return take_number(seccomp) != 0;
}

bool write_to(pid_t pid, uint64_t avma, const std::vector<std::byte>& bytes) {
  iovec here{const_cast<std::byte*>(bytes.data()), bytes.size()};
  iovec there{reinterpret_cast<void*>(avma), bytes.size()};
  return process_vm_writev(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes.size());
}

std::optional<ThreadState> state_of(pid_t tid, const user_regs_struct& registers) {
  ThreadState state{registers, 0, std::vector<std::byte>(kLargestVectors)};
  iovec vectors{state.vectors.data(), state.vectors.size()};
  if (ptrace(PTRACE_GETSIGMASK, tid, sizeof state.signal_mask, &state.signal_mask) != 0 ||
      ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &vectors) != 0) {
    return std::nullopt;
  }
  state.vectors.resize(vectors.iov_len);
  return state;
}

}  // namespace

RemoteTimers::RemoteTimers(pid_t pid, uint64_t period_ns)
    : pid_(pid), period_ns_(period_ns), signal_(choose_signal(pid)) {
  if (possible()) find_leftovers();
}

bool RemoteTimers::is_ours(const siginfo_t& info) const {
  const bool by_timer_or_call = info.si_code == SI_TIMER || info.si_code == SI_QUEUE;
  return by_timer_or_call && reinterpret_cast<uint64_t>(info.si_value.sival_ptr) == kCookie;
}

// Timers of a tracer that was killed: "ID: 3", then "signal: 23/COOKIE" (proc_pid_timers(5)).
void RemoteTimers::find_leftovers() {
  const auto text = read_whole("/proc/" + std::to_string(pid_) + "/timers");
  std::string_view rest = text ? *text : std::string_view();
  int id = -1;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with("ID:")) {
      line.remove_prefix(3);
      id = static_cast<int>(take_number(line));
    } else if (line.starts_with("signal:") && id >= 0) {
      line.remove_prefix(line.find('/') + 1);
      if (take_number(line, 16) == kCookie) unwanted_.push_back(id);
    }
  }
}

void RemoteTimers::set_period(uint64_t period_ns) {
  period_ns_ = period_ns;
  stale_.clear();
  for (const auto& [tid, id] : timers_) stale_.push_back(tid);
}

void RemoteTimers::want(pid_t tid) {
  if (possible() && !has(tid)) wanted_.push_back(tid);
}

void RemoteTimers::forget(pid_t tid) {
  std::erase(wanted_, tid);
  std::erase(stale_, tid);
  if (work_) {
    for (Making& making : work_->makings) {
      if (making.tid == tid) making.tid = 0;
    }
  }
  const auto found = timers_.find(tid);
  if (found == timers_.end()) return;
  unwanted_.push_back(found->second);
  timers_.erase(found);
}

void RemoteTimers::forget_all() {
  wanted_.clear();
  stale_.clear();
  for (const auto& [tid, id] : timers_) unwanted_.push_back(id);
  timers_.clear();
  if (!work_) return;
  for (Making& making : work_->makings) making.tid = 0;
}

void RemoteTimers::thread_ended(pid_t tid) {
  forget(tid);
  if (work_ && work_->tid == tid) work_.reset();
}

// Where `size` bytes of the first thread's stack are unused. That thread is stopped here or asleep.
std::optional<uint64_t> RemoteTimers::memory_for(pid_t tid, const user_regs_struct& registers,
                                                 size_t size) {
  const std::vector<MappedRange> map = read_memory_map(tid);
  const auto stack = std::ranges::find(map, "[stack]", &MappedRange::path);
  if (stack == map.end()) return std::nullopt;
  constexpr uint64_t kPage = 4096;
  const uint64_t base = stack->start + kPage;
  uint64_t limit = stack->end;
  if (tid == pid_) {
    if (registers.rsp >= stack->start && registers.rsp < stack->end) {
      limit = registers.rsp - kRedZone;
    } else if (base + size + kDistance > stack->end) {
      return std::nullopt;
    }
  } else if (const auto call = blocked_call(pid_, pid_)) {
    if (call->sp >= stack->start && call->sp < stack->end) limit = call->sp - kDistance;
  } else if (const auto state = thread_state(pid_, pid_); state && state != 'Z') {
    return std::nullopt;  // it runs: its stack pointer is not known
  }
  return base + size <= limit ? std::optional(base) : std::nullopt;
}

bool RemoteTimers::begin(pid_t tid, const user_regs_struct& registers) {
  if (!work_to_do() || work_ || !may_host_calls(registers)) return false;
  const MonotonicNs now = monotonic_ns();
  if (!site_) {
    if (now < next_search_ns_) return false;
    next_search_ns_ = now + kSearchInterval;
    site_ = find_call_site(tid);  // the first thread may have ended
    if (!site_) return false;
  }
  const auto state = state_of(tid, registers);
  if (!state || in_restartable_sequence(tid) || dispatches_calls(tid) || is_filtered(tid)) {
    return false;
  }

  const size_t makings = std::min(wanted_.size(), kMostMakings);
  const size_t deletions = std::min(unwanted_.size(), kMostOthers);
  const size_t settings = std::min(stale_.size(), kMostOthers - deletions);
  const size_t calls = 2 * makings + settings + deletions + 1;
  const size_t placed =
      (makings + 1) * sizeof(sigevent) + 2 * sizeof(itimerspec) + sizeof(siginfo_t);
  const size_t size =
      CallChain::largest_size(calls, 2 * placed) - kLargestVectors + state->vectors.size() + 256;
  const auto base = memory_for(tid, registers, size);
  if (!base) return false;

  Work work{tid, *state, 0, {}, {}, {}};
  CallChain chain(*base, calls);
  const auto take = [](auto& from) {
    const auto value = from.back();
    from.pop_back();
    return value;
  };
  for (size_t i = 0; i < deletions; ++i) {
    work.deletions.push_back(take(unwanted_));
    chain.add(SYS_timer_delete, {static_cast<uint64_t>(work.deletions.back())});
  }
  const timespec period{static_cast<time_t>(period_ns_ / 1'000'000'000),
                        static_cast<long>(period_ns_ % 1'000'000'000)};
  const uint64_t changed = chain.place(itimerspec{period, period});
  for (size_t i = 0; i < settings; ++i) {
    work.settings.push_back(take(stale_));
    const int id = timers_.at(work.settings.back());
    chain.add(SYS_timer_settime, {static_cast<uint64_t>(id), 0, changed, 0});
  }
  // The first expiry is at the next tick, so that short threads are seen, too.
  const uint64_t interval = chain.place(itimerspec{period, {0, 1}});
  // The deletions come first, so that no call that needs an id is the first of the chain.
  for (size_t i = 0; i < makings; ++i) {
    const pid_t wanting = take(wanted_);
    const pid_t own = own_tid(pid_, wanting);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_;
    event.sigev_value.sival_ptr = reinterpret_cast<void*>(kCookie);
    event._sigev_un._tid = own;
    const uint64_t event_avma = chain.place(event);
    chain.add(SYS_timer_create, {static_cast<uint64_t>(thread_cpu_clock(own)), event_avma,
                                 chain.first_argument_avma(2 * i + settings + deletions + 1)});
    const size_t setting = chain.add(SYS_timer_settime, {~0ull, 0, interval, 0});
    work.makings.push_back({wanting, chain.first_argument_avma(setting)});
  }
  // A signal to itself, which tells us that all is done.
  siginfo_t done{};
  done.si_signo = signal_;
  done.si_code = SI_QUEUE;
  done.si_value.sival_ptr = reinterpret_cast<void*>(kCookie);
  const uint64_t done_avma = chain.place(done);
  const size_t last = chain.add(SYS_rt_tgsigqueueinfo, {static_cast<uint64_t>(own_tid(pid_, pid_)),
                                                        static_cast<uint64_t>(own_tid(pid_, tid)),
                                                        static_cast<uint64_t>(signal_), done_avma});
  work.last_stack_pointer = chain.stack_pointer_in(last);

  const CallChain::Image image = chain.finish(*site_, *state, signal_);
  work.before.registers.orig_rax = ~0ull;
  const uint64_t blocked = ~(uint64_t{1} << (signal_ - 1));
  if (!write_to(tid, image.base, image.bytes) ||
      ptrace(PTRACE_SETREGS, tid, 0, &image.start) != 0) {
    for (const int id : work.deletions) unwanted_.push_back(id);
    for (const pid_t stale : work.settings) stale_.push_back(stale);
    for (const Making& making : work.makings) wanted_.push_back(making.tid);
    return false;
  }
  ptrace(PTRACE_SETSIGMASK, tid, sizeof blocked, &blocked);
  work_ = std::move(work);
  return true;
}

bool RemoteTimers::is_at_work(pid_t tid) {
  if (!work_ || work_->tid != tid) return false;
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, tid, 0, &registers) != 0) return true;
  const bool after_a_call = registers.rip == site_->call + 2;
  if (registers.rsp != work_->last_stack_pointer || !after_a_call) return true;
  finish();
  return true;
}

void RemoteTimers::finish() {
  const Work work = std::move(*work_);
  work_.reset();
  for (const Making& making : work.makings) {
    int id = -1;
    const bool known =
        read_process(work.tid, Avma::at(making.id_avma), &id, sizeof id) == sizeof id;
    if (!known || id < 0) continue;
    if (making.tid == 0) {
      unwanted_.push_back(id);
    } else {
      timers_[making.tid] = id;
    }
  }
  ptrace(PTRACE_SETSIGMASK, work.tid, sizeof work.before.signal_mask, &work.before.signal_mask);
  ptrace(PTRACE_SETREGS, work.tid, 0, &work.before.registers);
}

}  // namespace sampan::sampler
