#include "symbolizer/demangle.h"

#define HAVE_DECL_BASENAME 1  // libiberty.h: glibc's declaration differs
#include <libiberty/demangle.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

namespace sampan::symbolizer {

namespace {

// libiberty refuses names of more than 1024 characters, which large templates have, unless its
// limit is lifted. Its recursion then grows with the length, so a limit is still needed.
constexpr size_t kSafeLength = 1024;
constexpr size_t kMaxLength = 8192;
// Names refer to parts of themselves: a hostile name can expand without bound.
constexpr size_t kMaxDemangled = size_t{1} << 20;
struct TooLong {};

void append(const char* text, size_t size, void* name) {
  auto& so_far = *static_cast<std::string*>(name);
  if (so_far.size() + size > kMaxDemangled) throw TooLong();
  so_far.append(text, size);
}

// D's demangler cannot be interrupted. n references to types can expand a name 3^(n/3) times.
constexpr size_t kMaxReferences = 24;

size_t references_to_types(std::string_view name) {
  size_t count = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != 'Q') continue;
    // The distance back, in base 26: all digits but the last are capitals.
    size_t back = 0, end = i + 1;
    while (end < name.size() && name[end] >= 'A' && name[end] <= 'Z' && back < name.size()) {
      back = back * 26 + static_cast<size_t>(name[end++] - 'A');
    }
    if (end < name.size() && name[end] >= 'a' && name[end] <= 'z') {
      back = back * 26 + static_cast<size_t>(name[end] - 'a');
    }
    const std::string_view target = name.substr(back <= i ? i - back : 0);
    const size_t digits = std::min(target.find_first_not_of("0123456789"), target.size());
    count += digits == 0 || target.substr(digits).starts_with("__");  // an instance of a template
  }
  return count;
}

std::string demangle_d(const char* mangled) {
  if (references_to_types(mangled) > kMaxReferences) return mangled;
  const std::unique_ptr<char, void (*)(void*)> name(dlang_demangle(mangled, 0), free);
  return name ? name.get() : mangled;
}

// With or without a number after it.
constexpr std::string_view kCloneSuffixes[] = {".cold",  ".part",     ".isra",       ".constprop",
                                               ".llvm",  ".lto_priv", ".localalias", ".local_alias",
                                               ".clone", ".__part",   ".eh"};

}  // namespace

std::string demangle(const char* mangled) {
  const size_t length = strnlen(mangled, kMaxLength + 1);
  if (mangled[0] != '_' || length > kMaxLength) return mangled;
  if (mangled[1] == 'D') return length <= kSafeLength ? demangle_d(mangled) : mangled;
  const int limit = length > kSafeLength ? DMGL_NO_RECURSE_LIMIT : 0;
  try {
    // Rust first: a legacy Rust name is also a valid C++ name.
    std::string name;
    if (rust_demangle_callback(mangled, limit, append, &name) != 0) return name;
    name.clear();
    const int options = DMGL_PARAMS | DMGL_ANSI | limit;
    if (cplus_demangle_v3_callback(mangled, options, append, &name) != 0) return name;
  } catch (const TooLong&) {
    // Throws through C code, which holds no resources at that point: both demanglers use memory on
    // the stack.
  }
  return mangled;
}

std::string_view without_clone_suffix(std::string_view symbol) {
  while (true) {
    std::string_view rest = symbol;
    const size_t word_end = rest.find_last_not_of("0123456789") + 1;
    if (word_end < rest.size() && word_end > 0 && rest[word_end - 1] == '.') {
      rest = rest.substr(0, word_end - 1);
    }
    const auto* suffix = std::ranges::find_if(
        kCloneSuffixes, [&](std::string_view word) { return rest.ends_with(word); });
    if (suffix == std::end(kCloneSuffixes) || suffix->size() == rest.size()) return symbol;
    symbol = rest.substr(0, rest.size() - suffix->size());
  }
}

}  // namespace sampan::symbolizer
