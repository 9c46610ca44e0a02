// What is answered, made of what a source has. Members may be called from any thread.
#pragma once

#include <functional>
#include <string>

#include "http/message.h"
#include "serve/known_names.h"
#include "serve/metrics.h"
#include "serve/source.h"
#include "serve/window.h"

namespace sampan::serve {

class Answers {
 public:
  // `dump`: the threads of the process as they are now, as JSON. `page_every_ms`: how often the
  // page of a process asks for more.
  Answers(Source& source, const symbolizer::Options& names, std::function<std::string()> dump);

  // Looks up names beforehand.
  void learn_names(const Window& window);

  http::Response page(const Window& window);
  http::Response page_data(const Window& window);
  http::Response pprof(const Window& window);
  http::Response trace(const Window& window);
  http::Response recording(const Window& window);
  http::Response report(const Window& window);
  http::Response dump(const Window& window);
  http::Response metrics(const Window& window);
  // The command line, its words separated by zero bytes, as Go's, or by newlines.
  http::Response command_line(const Window& window);
  http::Response command_lines(const Window& window);
  http::Response gperftools_profile(const Window& window);
  // The names of the addresses of a gperftools profile: "0x1+0x2".
  http::Response symbols(const std::string& addresses);

 private:
  recording::Recording read(const Window& window);
  http::Response exported(const Window& window, const std::string& format, const std::string& type);
  std::vector<std::string> command();

  Source& source_;
  const symbolizer::Options naming_;
  const std::function<std::string()> dump_;
  KnownNames names_;
  Metrics metrics_;
};

}  // namespace sampan::serve
