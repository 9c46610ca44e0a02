#include "profile/unresolved.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "profile/frames.h"
#include "wire/deep_stack.h"

namespace sampan::profile {

namespace {

enum class Known { kAll, kName, kNothing };

// Places without a name are called "[module+0x1234]".
Known known(const Profile& profile, const Location& location) {
  Known worst = Known::kAll;
  for (uint32_t i = 0; i < location.line_count; ++i) {
    const Line& line = profile.lines[location.first_line + i];
    if (function_name(profile, line.function).starts_with('[')) return Known::kNothing;
    if (line.line == 0) worst = Known::kName;
  }
  return location.line_count == 0 ? Known::kNothing : worst;
}

class Sums {
 public:
  explicit Sums(const Profile& profile) : profile_(profile) {
    for (const Location& location : profile.locations) known_.push_back(known(profile, location));
  }

  void add(const Sample& sample) {
    std::set<uint32_t> unnamed;  // modules on this stack
    for (uint32_t stack = sample.stack; stack != kNone; stack = profile_.stacks[stack].prefix) {
      const uint32_t index = profile_.stacks[stack].location;
      const Location& location = profile_.locations[index];
      if (location.wait != kNone) continue;
      if (location.module == kNone && wire::is_no_code(location.address)) continue;
      const bool is_leaf = stack == sample.stack;
      if (known_[index] == Known::kNothing) {
        if (unnamed.insert(location.module).second) {
          of(location.module).on_stack_ns += sample.weight_ns;
        }
        if (is_leaf) of(location.module).unnamed_ns += sample.weight_ns;
      } else if (known_[index] == Known::kName && is_leaf) {
        of(location.module).without_lines_ns += sample.weight_ns;
      }
    }
  }

  std::vector<Unresolved> rows() const {
    std::vector<Unresolved> rows;
    for (const auto& [module, row] : modules_) rows.push_back(row);
    std::ranges::stable_sort(rows, std::greater(), [](const Unresolved& row) {
      return std::tuple(row.unnamed_ns, row.on_stack_ns, row.without_lines_ns);
    });
    return rows;
  }

 private:
  Unresolved& of(uint32_t module) {
    Unresolved& row = modules_[module];
    row.module = module;
    return row;
  }

  const Profile& profile_;
  std::vector<Known> known_;  // of each location
  std::map<uint32_t, Unresolved> modules_;
};

}  // namespace

std::vector<Unresolved> unresolved_by_module(const Profile& profile) {
  Sums sums(profile);
  for (const Sample& sample : profile.samples) {
    if (sample.wait == kNone) sums.add(sample);
  }
  return sums.rows();
}

}  // namespace sampan::profile
