#include "importers/kernel_symbols.h"

#include <algorithm>

#include "importers/text_lines.h"

namespace sampan::importers {

KernelSymbols::KernelSymbols(std::string_view text, std::string_view reference, uint64_t address) {
  bool is_this_boot = false;
  while (!text.empty()) {
    std::string_view line = take_line(&text);
    const auto at = number_of<uint64_t>(take_word(&line), 16);
    const std::string_view kind = take_word(&line), name = take_word(&line);
    if (!at || name.empty()) continue;
    is_this_boot |= name == reference && *at == address && address != 0;
    if (kind == "t" || kind == "T" || kind == "w" || kind == "W") {
      symbols_.push_back({*at, std::string(name)});
    }
  }
  if (!is_this_boot) symbols_.clear();
  // The first name of an address counts.
  std::ranges::stable_sort(symbols_, {}, &Symbol::address);
}

std::string_view KernelSymbols::name(uint64_t address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
  if (after == symbols_.begin()) return "";
  return std::ranges::lower_bound(symbols_, std::prev(after)->address, {}, &Symbol::address)->name;
}

}  // namespace sampan::importers
