#include "symbolizer/demangle.h"

#define HAVE_DECL_BASENAME 1  // libiberty.h: glibc declares it, differently
#include <libiberty/demangle.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace sampan::symbolizer {

namespace {

// libiberty refuses names of more than 1024 characters, which big templates have, unless its limit
// is lifted; recursion then grows with the length, so there is a limit still.
constexpr size_t kSafeLength = 1024;
constexpr size_t kMaxLength = 8192;

}  // namespace

std::string demangle(const char* mangled) {
  const size_t length = strnlen(mangled, kMaxLength + 1);
  if (mangled[0] != '_' || length > kMaxLength) return mangled;
  const int limit = length > kSafeLength ? DMGL_NO_RECURSE_LIMIT : 0;
  const auto owned = [](char* text) { return std::unique_ptr<char, void (*)(void*)>(text, free); };
  // Rust first: a legacy Rust name is a valid C++ one.
  if (const auto name = owned(rust_demangle(mangled, limit))) return name.get();
  if (const auto name = owned(cplus_demangle_v3(mangled, DMGL_PARAMS | DMGL_ANSI | limit))) {
    return name.get();
  }
  return mangled;
}

}  // namespace sampan::symbolizer
