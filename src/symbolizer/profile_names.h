// Enters what was found out into the profile: each function once, each location with its lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "profile/profile.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

class ProfileNames {
 public:
  // What is in the profile already stays where nothing better is entered.
  explicit ProfileNames(profile::Profile& profile);

  // `lines` has at least one, and each a function. True when all have names that a source knew.
  bool enter(profile::Location& location, const SourceLines& lines);
  // A location without a module: code that was made at run time, "[jit]" unless it has a name; or
  // "[short thread]", see profile::kShortThread. True when it has one.
  bool enter_unknown(profile::Location& location);

 private:
  struct Hash {
    size_t operator()(const profile::Function& function) const;
  };

  std::span<const profile::Line> lines_of(const profile::Location& location) const;
  bool has_name(const profile::Location& location) const;
  uint32_t function(const profile::Function& function);
  uint32_t text(const std::string* text) { return text != nullptr ? intern(*text) : 0; }
  uint32_t intern(std::string_view text) { return profile_.strings.intern(text); }

  profile::Profile& profile_;
  std::unordered_map<profile::Function, uint32_t, Hash> functions_;
};

}  // namespace sampan::symbolizer
