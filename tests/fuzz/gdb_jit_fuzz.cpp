// Any bytes as the file of code that a process has registered with debuggers.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sampler/process/gdb_jit.h"

using namespace sampan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = [&](uint64_t offset, std::span<uint8_t> buffer) -> size_t {
    if (offset >= size) return 0;
    const size_t count = std::min<uint64_t>(buffer.size(), size - offset);
    std::memcpy(buffer.data(), data + offset, count);
    return count;
  };
  const sampler::SymbolTable symbols(bytes, SHT_SYMTAB);
  if (symbols.hash() != sampler::SymbolTable(bytes, SHT_SYMTAB).hash()) abort();
  const sampler::RegisteredCode code(symbols);
  for (const auto& function : code.functions()) {
    if (function.begin >= function.end || function.name.empty()) abort();
    if (code.find(function.begin) == nullptr) abort();
  }
  return 0;
}
