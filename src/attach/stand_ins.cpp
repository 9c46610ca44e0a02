// What other files will define: whoever merges one of these functions takes it away here.
#include <sys/types.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "attach/engine.h"
#include "attach/permission.h"

namespace sampan::attach {

std::string why_not_profilable(pid_t) {
  return "";
}
std::string why_refused(EngineKind engine, pid_t, int error) {
  return fmt::format("{}: {}", engine_name(engine), std::strerror(error));
}
pid_t find_process(const std::string& pid_or_name) {
  return std::atoi(pid_or_name.c_str());
}

std::unique_ptr<Engine> make_ptrace_engine(sampler::EventLoop&, Targets&, const EngineOptions&) {
  throw Refused(ENOSYS, "no ptrace engine");
}
std::unique_ptr<Engine> make_poll_engine(sampler::EventLoop&, Targets&, const EngineOptions&) {
  throw Refused(ENOSYS, "no poll engine");
}

}  // namespace sampan::attach
