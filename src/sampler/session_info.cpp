#include "sampler/session_info.h"

#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"

namespace sampan::sampler {

uint32_t kernel_hz() {
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return resolution.tv_nsec > 0 ? static_cast<uint32_t>(1'000'000'000 / resolution.tv_nsec) : 0;
}

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
  session.start_monotonic_ns = monotonic_ns();
  session.rate_hz = rate_hz;
  session.kernel_hz = kernel_hz();
  return session;
}

}  // namespace sampan::sampler
