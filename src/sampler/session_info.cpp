#include "sampler/session_info.h"

#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"

namespace sampan::sampler {
namespace {

uint64_t kernel_tick_ns() {
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return resolution.tv_nsec > 0 ? static_cast<uint64_t>(resolution.tv_nsec) : 0;
}

}  // namespace

recording::Session describe_session(const std::vector<std::string>& command,
                                    const std::string& name, uint32_t rate_hz,
                                    const std::string& version) {
  utsname machine{};
  uname(&machine);
  recording::Session session;
  session.command = command;
  const std::string& file = command.front();
  session.program = !name.empty() ? name : file.substr(file.rfind('/') + 1);
  session.host = machine.nodename;
  session.kernel = machine.release;
  session.sampan_version = version;
  session.start_unix_ns = read_clock_ns(CLOCK_REALTIME);
  session.rate_hz = rate_hz;
  if (const uint64_t tick = kernel_tick_ns(); tick != 0) {
    session.kernel_hz = static_cast<uint32_t>(1'000'000'000 / tick);
  }
  return session;
}

}  // namespace sampan::sampler
