// Compares the walker with libunwind inside real programs. Test only: it is loaded with LD_PRELOAD,
// stops the program again and again by its CPU clock, and walks each stop with both.
//
//   ORACLE_OUTPUT  where the totals go: <ORACLE_OUTPUT>.<pid>.totals, a line of "kind count" each;
//                  what differed is described in <ORACLE_OUTPUT>.<pid>.differences
//   ORACLE_HZ      stops per second of the main thread's CPU time (1000); other threads are stopped
//                  by ITIMER_PROF, at the kernel's tick
//
// libunwind takes the loader's lock and cannot be used in the middle of the loader's own work, so
// stops inside ld.so are not compared but counted ("in_loader"); so are those where another thread
// is comparing at that moment ("busy").
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "oracle.h"
#include "unwind/cfi.h"
#include "unwind/module_finder.h"

namespace sampan::unwind {
namespace {

constexpr size_t kFrames = 2048;
constexpr unsigned kMaxDescribed = 500;

enum Kind {
  kEqual,            // the same frames, from the leaf to the root
  kEqualIncomplete,  // the same frames, and both gave up at the same place
  kTheirsEndsEarly,  // libunwind has fewer; what it has is the same
  kTheirsSkips,  // libunwind took rbp for a frame pointer in a function without a table, and so left
                 // out the function's caller; all else is the same
  kOursEndsEarly,  // we have fewer; what we have is the same
  kDifferent,      // from some frame on they are different
  kInLoader,
  kBusy,
  kKinds,
};
constexpr const char* kKindNames[kKinds] = {
    "equal",           "equal_incomplete", "theirs_ends_early", "theirs_skips",
    "ours_ends_early", "different",        "in_loader",         "busy"};

Walker walker;
ModuleFinder modules;
StackBounds main_stack;
pid_t main_thread;
uint64_t loader_start, loader_end;
std::atomic<uint64_t> counts[kKinds];
std::atomic<bool> comparing;
LastWalk last_walk;
uint64_t our_frames[kFrames], their_frames[kFrames];
int totals_fd = -1, differences_fd = -1;
unsigned described;

void write_totals() {
  char text[512];
  char* end = text;
  for (int kind = 0; kind < kKinds; ++kind) {
    end = fmt::format_to_n(end, text + sizeof(text) - end, "{} {}\n", kKindNames[kind],
                           counts[kind].load())
              .out;
  }
  if (pwrite(totals_fd, text, static_cast<size_t>(end - text), 0) < 0) return;
}

// "libc.so.6+0x1234"
char* describe_pc(char* out, char* end, uint64_t pc) {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &object) != 0) {
    return fmt::format_to_n(out, end - out, " {:#x}", pc).out;
  }
  std::string_view name = object.dlfo_link_map->l_name;
  if (name.empty()) name = "main";
  name.remove_prefix(name.rfind('/') + 1);
  return fmt::format_to_n(out, end - out, " {}+{:#x}", name, pc - object.dlfo_link_map->l_addr).out;
}

void describe(Kind kind, const WalkResult& ours, const OracleResult& theirs, size_t same) {
  if (described++ >= kMaxDescribed) return;
  char text[1024];
  char* const end = text + sizeof(text) - 1;
  char* out = fmt::format_to_n(text, end - text,
                               "{} same {} ours {} ({}) theirs {} ({}):", kKindNames[kind], same,
                               ours.depth, wire::stop_reason_text(ours.stop), theirs.depth,
                               theirs.last_step)
                  .out;
  if (same > 0) out = describe_pc(out, end, our_frames[same - 1]);
  out = fmt::format_to_n(out, end - out, " | ours").out;
  for (size_t i = same; i < ours.depth && i < same + 4; ++i)
    out = describe_pc(out, end, our_frames[i]);
  out = fmt::format_to_n(out, end - out, " | theirs").out;
  for (size_t i = same; i < theirs.depth && i < same + 4; ++i) {
    out = describe_pc(out, end, their_frames[i]);
  }
  *out++ = '\n';
  if (write(differences_fd, text, static_cast<size_t>(out - text)) < 0) return;
}

bool has_table(uint64_t pc) {
  Module module;
  RecentCies cies;
  CfiRow row;
  uint64_t fde = 0;
  return modules.find(pc, module) && find_fde(module, pc, fde) == CfiResult::kFound &&
         find_row(module.image, fde, pc, cies, 0, row) == CfiResult::kFound;
}

bool is_skipped(const WalkResult& ours, const OracleResult& theirs, size_t same) {
  return same > 0 && ours.stop == wire::StopReason::kRoot && ours.depth == theirs.depth + 1 &&
         !has_table(our_frames[same - 1]) &&
         std::equal(our_frames + same + 1, our_frames + ours.depth, their_frames + same);
}

Kind compare(const ucontext_t& stop) {
  const bool is_main = syscall(SYS_gettid) == main_thread;
  const StackBounds bounds = is_main ? main_stack : StackBounds{0, 0, true};
  const WalkResult ours = walker.walk(registers_of(stop), bounds, our_frames, &last_walk);
  const auto in_loader = [](uint64_t pc) { return loader_start <= pc && pc < loader_end; };
  if (std::any_of(our_frames, our_frames + ours.depth, in_loader)) return kInLoader;
  const OracleResult theirs = oracle_walk(stop, their_frames);
  const auto [our_end, their_end] =
      std::mismatch(our_frames, our_frames + ours.depth, their_frames, their_frames + theirs.depth);
  const size_t same = static_cast<size_t>(our_end - our_frames);
  Kind kind = kDifferent;
  if (same == ours.depth && same == theirs.depth) {
    kind = ours.stop == wire::StopReason::kRoot ? kEqual : kEqualIncomplete;
  } else if (same == ours.depth) {
    kind = kOursEndsEarly;
  } else if (same == theirs.depth) {
    kind = kTheirsEndsEarly;
  } else if (is_skipped(ours, theirs, same)) {
    kind = kTheirsSkips;
  }
  if (kind != kEqual) describe(kind, ours, theirs, same);
  return kind;
}

void on_signal(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  if (comparing.exchange(true)) {
    ++counts[kBusy];
  } else {
    const Kind kind = compare(*static_cast<const ucontext_t*>(context));
    if (++counts[kind] % 256 == 0) write_totals();
    comparing = false;
  }
  errno = saved_errno;
}

// Stops of the calling thread by its CPU time, more often than the kernel's tick.
bool start_perf_clock(unsigned hz) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = 1'000'000'000 / hz;
  attributes.exclude_kernel = 1;
  attributes.wakeup_events = 1;
  const int fd =
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return false;
  const f_owner_ex owner{F_OWNER_TID, main_thread};
  fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
  fcntl(fd, F_SETSIG, SIGPROF);
  fcntl(fd, F_SETOWN_EX, &owner);
  return true;
}

int open_output(const char* prefix, const char* what) {
  const std::string path = fmt::format("{}.{}.{}", prefix, getpid(), what);
  return open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

[[gnu::constructor]] void start() {
  const char* output = std::getenv("ORACLE_OUTPUT");
  if (output == nullptr || !walker.start(unwind::find_object_by_loader())) return;
  modules.start(unwind::find_object_by_loader());
  totals_fd = open_output(output, "totals");
  differences_fd = open_output(output, "differences");
  main_thread = static_cast<pid_t>(syscall(SYS_gettid));

  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    size_t size = 0;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    const uint64_t start = reinterpret_cast<uint64_t>(low);
    main_stack = {start, start + size, true};
  }
  dl_find_object loader;
  if (_dl_find_object(reinterpret_cast<void*>(getauxval(AT_BASE)), &loader) == 0) {
    loader_start = reinterpret_cast<uint64_t>(loader.dlfo_map_start);
    loader_end = reinterpret_cast<uint64_t>(loader.dlfo_map_end);
  }

  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const char* hz = std::getenv("ORACLE_HZ");
  start_perf_clock(hz != nullptr ? static_cast<unsigned>(std::atoi(hz)) : 1000);
  const itimerval interval{{0, 4000}, {0, 4000}};
  setitimer(ITIMER_PROF, &interval, nullptr);
}

[[gnu::destructor]] void stop() {
  signal(SIGPROF, SIG_IGN);
  if (totals_fd >= 0) write_totals();
}

}  // namespace
}  // namespace sampan::unwind

// Cached rows of a module that is gone must be forgotten.
extern "C" int dlclose(void* handle) {
  static const auto next = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
  sampan::unwind::walker.begin_unload();
  const int result = next(handle);
  sampan::unwind::walker.end_unload();
  return result;
}
