// Makes the answers to requests from a source. Members may be called from any thread.
#pragma once

#include <functional>
#include <string>

#include "profile/view.h"
#include "remote/http/message.h"
#include "remote/serve/known_names.h"
#include "remote/serve/metrics.h"
#include "remote/serve/request.h"
#include "remote/serve/source.h"

namespace sampan::serve {

class Answers {
 public:
  // `dump`: returns the current threads of the process as JSON.
  Answers(Source& source, const symbolizer::Options& names, std::function<std::string()> dump);

  // Looks up names in advance.
  void learn_names(const Window& window);

  http::Response page(const Window& window);
  http::Response page_data(const Window& window);
  http::Response pprof(const Window& window);
  // 400 if that was not recorded: the heap at the end of the window, or what was allocated in it; waits
  // for locks that ended in it, by who waited or by who held the lock.
  http::Response live_heap(const Window& window);
  http::Response allocations(const Window& window);
  http::Response waiters(const Window& window);
  http::Response holders(const Window& window);
  http::Response trace(const Window& window);
  http::Response recording(const Window& window);
  http::Response report(const Window& window);
  http::Response dump(const Window& window);
  http::Response metrics(const Window& window);
  // The words of the command line, separated by zero bytes as Go does, or by newlines.
  http::Response command_line(const Window& window);
  http::Response command_lines(const Window& window);
  http::Response gperftools_profile(const Window& window);
  // `addresses`: those of a gperftools profile, "0x1+0x2".
  http::Response symbols(const std::string& addresses);

 private:
  recording::Recording read(const Window& window);
  profile::Profile read_profile(const Window& window);
  http::Response heap(const Window& window, profile::HeapPart part);
  std::vector<std::string> command();

  Source& source_;
  const symbolizer::Options naming_;
  const std::function<std::string()> dump_;
  KnownNames names_;
  Metrics metrics_;
};

}  // namespace sampan::serve
