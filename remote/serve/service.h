// The endpoints: which paths there are, and what each answers (docs/serving.md).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/server.h"
#include "serve/access.h"
#include "serve/answers.h"
#include "serve/jobs.h"
#include "serve/source.h"

namespace sampan::serve {

struct ServiceOptions {
  http::Certificate certificate = {};
  std::string token = {};
  symbolizer::Options names = {};
  std::function<std::string()> dump = {};  // of a process: see Answers
};

class Service {
 public:
  // Serves from now on. `source` must outlive it. Throws Error.
  Service(const http::Listener& listener, Source& source, const ServiceOptions& options);
  ~Service();

 private:
  void handle(http::Request request, http::Reply reply);
  void prepare_names(const Window& window);

  Source& source_;
  const Access access_;
  Answers answers_;
  Jobs jobs_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace sampan::serve
