// What there is to be asked for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/answers.h"
#include "serve/window.h"

namespace sampan::serve {

struct Endpoint {
  std::string_view path;
  std::string_view description;
  UsualWindow usual;
  bool of_process;  // a recording has none of it
  bool has_window;  // it knows `seconds` and `last`
  http::Response (Answers::*answer)(const Window& window);
};

std::span<const Endpoint> endpoints();
const Endpoint* find_endpoint(std::string_view path);  // null: there is none

// The page of /debug/pprof/, with links that have the token, if there is one.
std::string index_page(bool is_live, std::string_view token);

}  // namespace sampan::serve
