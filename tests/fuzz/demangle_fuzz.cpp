// Any symbol for the demanglers.
#include <cstddef>
#include <cstdint>
#include <string>

#include "symbolizer/demangle.h"

using namespace sampan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string all(data, data + size);
  const std::string symbol = all.substr(0, all.find('\0'));
  for (const char* prefix : {"_Z", "_R", "_D", ""}) {
    symbolizer::demangle((prefix + symbol).c_str());
  }
  symbolizer::without_clone_suffix(symbol);
  return 0;
}
