#include "attach/stolen_time.h"

#include <cctype>

#include "attach/proc_text.h"
#include "base/clock.h"
#include "base/units.h"

namespace sampan::attach {
namespace {

// CPUs that have no tick while they run one thread: its account is up to a second old. None is ""
// or "(null)".
bool has_tickless_cpus() {
  char buffer[16];
  const auto cpus = read_start("/sys/devices/system/cpu/nohz_full", buffer);
  return cpus && !cpus->empty() && std::isdigit(static_cast<unsigned char>(cpus->front())) != 0;
}

}  // namespace

StolenTime::StolenTime() : known_(!has_tickless_cpus()) {
  look(monotonic_ns());  // what was stolen since the boot tells what is to be expected
}

void StolenTime::look(uint64_t now_ns) {
  if (!known_ || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kNsPerSecond;
  char buffer[256];
  const uint64_t total = stolen_ticks(read_start("/proc/stat", buffer).value_or(""));
  any_ = total != total_;
  total_ = total;
}

uint64_t stolen_ticks(std::string_view stat) {
  constexpr int kFieldsBefore = 7;  // user nice system idle iowait irq softirq
  std::string_view line = line_after(stat, "cpu ");
  for (int field = 0; field < kFieldsBefore; ++field) take_word(line);
  return take_number(line);
}

uint64_t least_stolen(uint64_t perf_ns, uint64_t cpu_ns, uint64_t tick_ns) {
  const uint64_t most_cpu_ns = cpu_ns + tick_ns;
  return perf_ns > most_cpu_ns ? perf_ns - most_cpu_ns : 0;
}

}  // namespace sampan::attach
