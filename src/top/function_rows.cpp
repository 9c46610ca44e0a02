#include <algorithm>
#include <unordered_map>

#include "profile/flat.h"
#include "profile/frames.h"
#include "top/rows.h"

namespace sampan::top {
namespace {

using profile::FlatRow;
using profile::kNone;

FunctionRow named_row(const profile::Profile& profile, const FlatRow& row) {
  FunctionRow result;
  result.id = result.function = row.function;
  result.name = profile::function_name(profile, row.function);
  result.module = profile::module_name(profile, row.module);
  return result;
}

bool before(const FunctionRow& a, const FunctionRow& b, FunctionSort by) {
  switch (by) {
    case FunctionSort::kSelf: return a.self.ns > b.self.ns;
    case FunctionSort::kTotal: return a.total.ns > b.total.ns;
    case FunctionSort::kName: return a.name < b.name;
  }
  return false;
}

}  // namespace

std::vector<FunctionRow> function_rows(const profile::Profile& profile, const Choices& choices,
                                       std::span<const profile::WeightedStack> stacks,
                                       std::span<const profile::WeightedStack> since_start) {
  std::vector<FunctionRow> rows;
  std::unordered_map<uint32_t, size_t> row_of;  // by function
  for (const FlatRow& flat : profile::flat_table(profile, since_start)) {
    row_of[flat.function] = rows.size();
    FunctionRow row = named_row(profile, flat);
    row.start_self = flat.self;
    row.start_total = flat.total;
    rows.push_back(std::move(row));
  }
  for (const FlatRow& flat : profile::flat_table(profile, stacks)) {
    const auto found = row_of.find(flat.function);
    if (found == row_of.end()) continue;  // its stack was forgotten
    rows[found->second].self = flat.self;
    rows[found->second].total = flat.total;
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const FunctionRow& a, const FunctionRow& b) {
    return choices.reversed ? before(b, a, choices.function_sort)
                            : before(a, b, choices.function_sort);
  });
  return rows;
}

}  // namespace sampan::top
