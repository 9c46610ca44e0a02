// Enters what was found out into the profile: each function once, each location with its lines.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "profile/profile.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

class ProfileNames {
 public:
  // Clears what an earlier run entered.
  explicit ProfileNames(profile::Profile& profile);

  // True when a source knew the function's name. `found` may be null; a name that is missing
  // becomes "[module+0x1234]", or "[unknown 0x7f12]" where there is no module.
  bool enter(profile::Location& location, const SourceLines* found);

 private:
  struct Hash {
    size_t operator()(const profile::Function& function) const;
  };

  uint32_t function(const profile::Function& function);
  uint32_t text(const std::string* text) { return text != nullptr ? intern(*text) : 0; }
  uint32_t intern(std::string_view text) { return profile_.strings.intern(text); }
  uint32_t place_name(const profile::Location& location);

  profile::Profile& profile_;
  std::unordered_map<profile::Function, uint32_t, Hash> functions_;
};

}  // namespace sampan::symbolizer
