// One file, opened to be asked for addresses again and again: what `sampan addr2line` is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbolizer/address_text.h"
#include "symbolizer/module_source.h"
#include "symbolizer/name_cache.h"
#include "symbolizer/symbolizer.h"
#include "symbolizer/unit_lines.h"

namespace sampan::symbolizer {

class AddressLookup {
 public:
  // Throws Error, without the path, when there is no such file, or it is no ELF file.
  AddressLookup(const std::string& path, const Options& options);

  // What is known of an address, innermost function first; nothing where nothing is. Good for the
  // time of the call.
  using Answer = std::function<void(uint64_t svma, std::span<const AnswerLine> lines)>;
  // Any addresses, answered in their order.
  void find(std::span<const uint64_t> svmas, const Answer& answer);
  // What of the debug information could not be read; "" when all of it could.
  std::string problem() const;

 private:
  void open_source();
  LinesByAddress look_up(std::vector<uint64_t> svmas);

  const Options options_;
  profile::Module module_;
  Names names_;
  std::optional<NameCache> cache_;
  std::optional<ModuleSource> source_;  // where the cache does not know all
  std::optional<UnitResolver> resolver_;
};

}  // namespace sampan::symbolizer
