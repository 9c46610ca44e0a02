// What other files will define: whoever merges one of these functions takes it away here.
#include <cerrno>

#include "attach/engine.h"

namespace sampan::attach {

std::unique_ptr<Engine> make_ptrace_engine(sampler::EventLoop&, Targets&, const EngineOptions&) {
  throw Refused(ENOSYS, "no ptrace engine");
}
std::unique_ptr<Engine> make_poll_engine(sampler::EventLoop&, Targets&, const EngineOptions&) {
  throw Refused(ENOSYS, "no poll engine");
}

}  // namespace sampan::attach
