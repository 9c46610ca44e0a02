// The symbols that a module offers to others. They are there in stripped files, too. Format: System V
// ABI, chapter 4.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/address.h"
#include "sampler/process/module_file.h"

namespace sampan::sampler {

struct DynamicSymbol {
  std::string_view name;  // while each() runs
  Svma svma;
  uint64_t size;  // in bytes
};

// Calls each() for the symbols that the module defines: none where the file makes no sense.
void for_each_dynamic_symbol(const ModuleBytes& bytes,
                             const std::function<void(const DynamicSymbol&)>& each);

}  // namespace sampan::sampler
