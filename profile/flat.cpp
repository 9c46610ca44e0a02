#include "profile/flat.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "profile/frames.h"

namespace sampan::profile {
namespace {

FlatRow row_of(const Profile& profile, const Frame& frame, By by) {
  const bool named = frame.function != kNone;
  const Function function = named ? profile.functions[frame.function] : Function{};
  const uint32_t module = named ? function.module : profile.locations[frame.location].module;
  FlatRow row;
  switch (by) {
    case By::kFunction:
      row.function = frame.function;
      row.file = function.file;
      row.line = function.line;
      row.module = module;
      break;
    case By::kLine:
      row.function = frame.function;
      row.file = frame.file;
      row.line = frame.line;
      row.module = module;
      break;
    case By::kFile:
      row.file = frame.file != 0 ? frame.file : function.file;
      if (row.file == 0) row.module = module;
      break;
    case By::kModule:
      row.module = profile.locations[frame.location].module;
      if (is_python(profile.locations[frame.location])) row.file = function.file;
      break;
    case By::kThread:
    case By::kProcess: break;
  }
  return row;
}

// The rows of a table, and the row of each frame of the profile.
class FrameRows {
 public:
  FrameRows(const Profile& profile, By by) : profile_(profile), first_(profile.locations.size()) {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> known;
    for (uint32_t location = 0; location < first_.size(); ++location) {
      first_[location] = static_cast<uint32_t>(row_of_frame_.size());
      for_each_frame(profile, location, [&](const Frame& frame) {
        const FlatRow row = row_of(profile, frame, by);
        const auto [place, is_new] = known.try_emplace(
            {row.function, row.file, row.line, row.module}, static_cast<uint32_t>(rows.size()));
        if (is_new) rows.push_back(row);
        row_of_frame_.push_back(place->second);
      });
    }
    seen_.assign(rows.size(), kNone);
  }

  void add(uint32_t stack, const Weight& weight) {
    bool leaf = true;
    for (uint32_t at = stack; at != kNone; at = profile_.stacks[at].prefix) {
      const uint32_t location = profile_.stacks[at].location;
      const uint32_t end = location + 1 < first_.size()
                               ? first_[location + 1]
                               : static_cast<uint32_t>(row_of_frame_.size());
      for (uint32_t i = first_[location]; i < end; ++i) {
        const uint32_t row = row_of_frame_[i];
        if (leaf) rows[row].self += weight;
        leaf = false;
        if (seen_[row] == stack) continue;  // recursion
        seen_[row] = stack;
        rows[row].total += weight;
      }
    }
  }

  std::vector<FlatRow> rows;

 private:
  const Profile& profile_;
  std::vector<uint32_t> first_;         // by location, into row_of_frame_
  std::vector<uint32_t> row_of_frame_;  // into rows
  std::vector<uint32_t> seen_;          // by row: the last stack that counted it
};

std::vector<FlatRow> by_frames(const Profile& profile, std::span<const WeightedStack> stacks,
                               By by) {
  FrameRows table(profile, by);
  FlatRow unknown;
  for (const WeightedStack& row : stacks) {
    if (row.stack == kNone) {
      unknown.self = unknown.total = row.weight;
    } else {
      table.add(row.stack, row.weight);
    }
  }
  table.rows.push_back(unknown);
  return std::move(table.rows);
}

std::vector<FlatRow> by_threads(const View& view, By by) {
  const Profile& profile = *view.profile;
  std::vector<FlatRow> rows(by == By::kThread ? profile.threads.size() : profile.processes.size());
  for (const uint32_t index : view.samples) {
    const Sample& sample = profile.samples[index];
    const uint32_t process = profile.threads[sample.thread].process;
    FlatRow& row = rows[by == By::kThread ? sample.thread : process];
    if (by == By::kThread) row.thread = sample.thread;
    row.process = process;
    row.self += {sample.weight_ns, 1};
    row.total = row.self;
  }
  return rows;
}

std::vector<FlatRow> heaviest_first(std::vector<FlatRow> rows) {
  std::erase_if(rows, [](const FlatRow& row) { return row.total.samples == 0; });
  std::stable_sort(rows.begin(), rows.end(), [](const FlatRow& a, const FlatRow& b) {
    return std::tie(b.self.ns, b.total.ns) < std::tie(a.self.ns, a.total.ns);
  });
  return rows;
}

}  // namespace

std::vector<FlatRow> flat_table(const View& view, By by) {
  if (by == By::kThread || by == By::kProcess) return heaviest_first(by_threads(view, by));
  return flat_table(*view.profile, by_stack(view), by);
}

std::vector<FlatRow> flat_table(const Profile& profile, std::span<const WeightedStack> stacks,
                                By by) {
  return heaviest_first(by_frames(profile, stacks, by));
}

}  // namespace sampan::profile
