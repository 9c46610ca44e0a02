#include "attach/schedstat_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace sampan::attach {
namespace {

constexpr int kReserved = 256;  // descriptors that are left to everything else

int highest_descriptor() {
  static const int highest = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < kReserved) return 0;
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20)) - kReserved;
  }();
  return highest;
}

// "CPU QUEUED TURNS\n"
std::optional<RunTimes> parse(const char* begin, const char* end) {
  RunTimes times{};
  for (uint64_t* value : {&times.cpu_ns, &times.queued_ns, &times.turns}) {
    while (begin < end && *begin == ' ') ++begin;
    const auto [next, error] = std::from_chars(begin, end, *value);
    if (error != std::errc()) return std::nullopt;
    begin = next;
  }
  return times;
}

}  // namespace

SchedstatFile::SchedstatFile(pid_t pid, pid_t tid) : pid_(pid), tid_(tid) {
  const std::string path = fmt::format("/proc/{}/task/{}/schedstat", pid, tid);
  file_ = sampler::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // The lowest free number is given out: a high one says how many are taken.
  if (file_ && file_.get() > highest_descriptor()) file_.reset();
}

std::optional<RunTimes> SchedstatFile::read() const {
  if (!file_) return run_times(pid_, tid_);
  char text[96];
  const ssize_t size = ::pread(file_.get(), text, sizeof text, 0);
  return size > 0 ? parse(text, text + size) : std::nullopt;
}

}  // namespace sampan::attach
