#include "reports/gate/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <fstream>
#include <sstream>

namespace sampan::reports {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    return colon == line.npos ? "" : line.substr(colon + 2);
  }
  return "";
}

unsigned usable_cpus() {
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? static_cast<unsigned>(CPU_COUNT(&cpus))
                                                       : 0;
}

// proc(5), /proc/stat: user nice system idle iowait irq softirq steal.
double stolen() {
  std::istringstream line(first_line("/proc/stat"));
  std::string word;
  line >> word;
  constexpr int kIdle = 3, kWaiting = 4, kSteal = 7;
  double used = 0, steal = 0, ticks = 0;
  for (int i = 0; i <= kSteal && line >> ticks; ++i) {
    if (i != kIdle && i != kWaiting) used += ticks;
    if (i == kSteal) steal = ticks;
  }
  return used == 0 ? 0 : steal / used;
}

}  // namespace

Environment environment_now() {
  utsname system{};
  uname(&system);
  Environment now{.processor = processor(),
                  .cpus = usable_cpus(),
                  .kernel = system.release,
                  .governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
                  .stolen = stolen()};
  std::istringstream(first_line("/proc/loadavg")) >> now.load;
  return now;
}

std::vector<std::string> differences(const Environment& before, const Environment& now) {
  std::vector<std::string> found;
  const auto compare = [&found](const char* what, const auto& a, const auto& b) {
    if (a != b) found.push_back(fmt::format("{}: '{}' now, '{}' in the baseline", what, b, a));
  };
  compare("the processor is another one", before.processor, now.processor);
  compare("the number of CPUs is another one", before.cpus, now.cpus);
  compare("the kernel is another one", before.kernel, now.kernel);
  compare("the frequency governor is another one", before.governor, now.governor);
  // Half a CPU more or less is no quiet machine any more.
  constexpr double kOtherLoad = 0.5, kOtherSteal = 0.02;
  if (now.load - before.load > kOtherLoad * before.cpus ||
      before.load - now.load > kOtherLoad * before.cpus) {
    found.push_back(fmt::format("the load is another one: {:.1f} now, {:.1f} in the baseline",
                                now.load, before.load));
  }
  if (now.stolen - before.stolen > kOtherSteal || before.stolen - now.stolen > kOtherSteal) {
    found.push_back(fmt::format(
        "other guests take another part of the CPU: {:.1f} % now, {:.1f} % in the baseline",
        100 * now.stolen, 100 * before.stolen));
  }
  return found;
}

}  // namespace sampan::reports
