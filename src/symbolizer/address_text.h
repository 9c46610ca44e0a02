// Addresses and what is known of them as text, as addr2line and llvm-symbolizer read and print it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::symbolizer {

enum class AddressStyle { kGnu, kLlvm, kJson };

struct AddressFormat {
  AddressStyle style = AddressStyle::kGnu;
  bool functions = false;
  bool inlines = false;    // else the innermost place alone, in the function that was compiled
  bool addresses = false;  // first
  bool pretty = false;     // all in one line
  bool base_names = false;
  std::string module;  // for kJson
};

// One function that is being executed at an address, and where in it. "" and 0: unknown.
struct AnswerLine {
  std::string_view function, file;
  uint32_t line = 0, column = 0;
  std::string_view function_file;  // of its definition
  uint32_t function_line = 0;
};

// addr2line reads hexadecimal numbers; llvm-symbolizer does where they begin with 0x. What is no
// number is address 0 to both, and unknown.
uint64_t parse_address(std::string_view word, AddressStyle style);
// The same of whole lines, each of which ends in a newline.
std::vector<uint64_t> parse_addresses(std::string_view lines, AddressStyle style);

// Appends what is to be printed of one address; innermost function first.
void append_address(uint64_t svma, std::span<const AnswerLine> lines, const AddressFormat& format,
                    std::string* text);

}  // namespace sampan::symbolizer
