// Any bytes as messages of an agent, a line each. Nothing runs: calls are only queued. Every answer is one line of JSON.
#include <rapidjson/document.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "remote/mcp/server.h"

using namespace sampan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mcp::Server server({.version = "1", .allow_run = true});
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::string answer = server.receive(line);
    if (answer.empty()) continue;
    if (answer.find('\n') != answer.size() - 1) abort();
    rapidjson::Document document;
    document.Parse<rapidjson::kParseValidateEncodingFlag>(answer.data(), answer.size() - 1);
    if (document.HasParseError() || !document.IsObject()) abort();
  }
  return 0;
}
