// SIGUSR1 for a sampan that runs no program of its own: what there is now is written.
#pragma once

#include <signal.h>

#include <functional>
#include <string>

#include "sampler/event_loop.h"
#include "sampler/file_descriptor.h"

namespace sampan::cli {

// Calls `flush`, which returns the path of what was written, and says that on stderr.
void flush_and_say(const std::function<std::string()>& flush);

class FlushSignal {
 public:
  // Does so at each SIGUSR1, until it is destroyed. Throws Error.
  FlushSignal(sampler::EventLoop& loop, std::function<std::string()> flush);
  ~FlushSignal();
  FlushSignal(const FlushSignal&) = delete;
  FlushSignal& operator=(const FlushSignal&) = delete;

 private:
  sampler::EventLoop& loop_;
  sigset_t inherited_mask_;
  sampler::FileDescriptor fd_;
};

}  // namespace sampan::cli
