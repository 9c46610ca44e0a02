// Addresses of one file, looked up again and again, and printed in the formats of addr2line and
// llvm-symbolizer: the core of `sampan addr2line`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolizer/module_source.h"
#include "symbolizer/name_cache.h"
#include "symbolizer/symbolizer.h"
#include "symbolizer/unit_lines.h"

namespace sampan::symbolizer {

enum class AddressStyle { kGnu, kLlvm, kJson };

struct AddressFormat {
  AddressStyle style = AddressStyle::kGnu;
  bool functions = false;
  bool inlines = false;    // else only the innermost place, in the compiled function
  bool addresses = false;  // in front of each answer
  bool pretty = false;     // one line for each function
  bool base_names = false;
  std::string module;  // for kJson
};

// One function that is executed at an address, and the place in it. "" and 0: unknown.
struct AnswerLine {
  std::string_view function, file;
  uint32_t line = 0, column = 0;
  std::string_view function_file;  // of its definition
  uint32_t function_line = 0;
};

// addr2line reads hexadecimal numbers; llvm-symbolizer reads hexadecimal with 0x, else decimal.
// Both take anything else for address 0, which is unknown.
uint64_t parse_address(std::string_view word, AddressStyle style);
// The same for lines, each of which ends in a newline.
std::vector<uint64_t> parse_addresses(std::string_view lines, AddressStyle style);

// Appends the answer for one address; innermost function first.
void append_address(uint64_t svma, std::span<const AnswerLine> lines, const AddressFormat& format,
                    std::string* text);

class AddressLookup {
 public:
  // Throws Error, without the path, if the file does not exist or is not an ELF file.
  AddressLookup(const std::string& path, const Options& options);

  // What is known about an address, innermost function first; empty if nothing is. Valid during the
  // call only.
  using Answer = std::function<void(uint64_t svma, std::span<const AnswerLine> lines)>;
  // Looks up any addresses, and answers in their order.
  void find(std::span<const uint64_t> svmas, const Answer& answer);
  // What debug information is missing or could not be read; "" if nothing.
  std::string problem() const;

 private:
  void open_source();
  LinesByAddress look_up(std::vector<uint64_t> svmas);

  const Options options_;
  profile::Module module_;
  Names names_;
  std::optional<NameCache> cache_;
  std::optional<ModuleSource> source_;  // set when the cache did not have an address
  std::optional<UnitResolver> resolver_;
};

}  // namespace sampan::symbolizer
