// The HTTP service: paths and their answers (docs/serving.md).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "remote/http/server.h"
#include "remote/serve/answers.h"
#include "remote/serve/jobs.h"
#include "remote/serve/request.h"
#include "remote/serve/source.h"

namespace sampan::serve {

struct ServiceOptions {
  http::Certificate certificate = {};
  std::string token = {};
  symbolizer::Options names = {};
  std::function<std::string()> dump = {};  // for a process, see Answers
};

class Service {
 public:
  // Serves as soon as it is constructed. `source` must outlive it. Throws Error.
  Service(const http::Listener& listener, Source& source, const ServiceOptions& options);
  ~Service();

 private:
  void handle(const http::Request& request, http::Reply reply);
  void prepare_names(const Window& window);

  Source& source_;
  const Access access_;
  Answers answers_;
  Jobs jobs_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace sampan::serve
