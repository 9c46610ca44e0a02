#include "sampler/recorder/perf_map.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"

namespace sampan::sampler {
PerfMap::PerfMap(pid_t pid) : begun_ns_(begun_unix_ns(pid).value_or(unix_now_ns())) {
  const pid_t inner = innermost_pid(pid);
  if (inner != pid) path_ = fmt::format("{}/root/tmp/perf-{}.map", shared_entries(pid), inner);
}

void PerfMap::look() {
  if (is_elsewhere() && file_ == nullptr) file_ = open_jit_file(path_, begun_ns_);
}

void PerfMap::read(const std::function<void(const JitCode&)>& take) {
  look();
  if (file_ == nullptr) return;
  rewind(file_.get());
  read_perf_map(file_.get(), take);
}

}  // namespace sampan::sampler
