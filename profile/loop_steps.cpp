#include "profile/loop_steps.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "profile/frames.h"

namespace sampan::profile {
namespace {

// The steps of each thread, by their begin.
std::vector<std::vector<uint32_t>> steps_by_thread(const Profile& profile) {
  std::vector<std::vector<uint32_t>> rows(profile.threads.size());
  for (uint32_t i = 0; i < profile.markers.steps.size(); ++i) {
    rows[profile.markers.steps[i].thread].push_back(i);
  }
  return rows;
}

uint32_t step_at(const Profile& profile, const std::vector<uint32_t>& rows, SessionNs time_ns) {
  const auto next = std::upper_bound(
      rows.begin(), rows.end(), time_ns,
      [&](SessionNs time, uint32_t row) { return time < profile.markers.steps[row].begin_ns; });
  if (next == rows.begin() || profile.markers.steps[next[-1]].end_ns < time_ns) return kNone;
  return next[-1];
}

// The part of a stack that a callback of the loop is: without what runs the loop.
void drop_loop(const Profile& profile, std::vector<uint32_t>* functions) {
  constexpr std::string_view kHandleRun[] = {"Handle._run", "_run"};
  for (size_t i = functions->size(); i-- > 0;) {
    const uint32_t function = (*functions)[i];
    if (function == kNone) continue;
    const std::string_view file = profile.strings[profile.functions[function].file];
    if (!file.ends_with("/asyncio/events.py")) continue;
    if (std::ranges::count(kHandleRun, function_name(profile, function)) == 0) continue;
    functions->erase(functions->begin(), functions->begin() + static_cast<ptrdiff_t>(i) + 1);
    return;
  }
}

struct SampledStack {
  std::vector<uint32_t> functions;  // root first
  std::vector<bool> is_python;
  uint64_t ns;
};

// The functions that have more than half of the time, from the callback inwards. Among C functions,
// the innermost one alone.
std::vector<uint32_t> heavy_path(const std::vector<SampledStack>& stacks) {
  uint64_t all_ns = 0;
  for (const SampledStack& stack : stacks) all_ns += stack.ns;
  std::vector<uint32_t> path;
  bool last_is_python = true;
  std::vector<const SampledStack*> left;
  for (const SampledStack& stack : stacks) left.push_back(&stack);
  for (size_t depth = 0;; ++depth) {
    std::map<uint32_t, uint64_t> weights;
    for (const SampledStack* stack : left) {
      if (depth < stack->functions.size()) weights[stack->functions[depth]] += stack->ns;
    }
    const auto heaviest = std::ranges::max_element(
        weights, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (heaviest == weights.end() || 2 * heaviest->second <= all_ns) return path;
    std::erase_if(left, [&](const SampledStack* stack) {
      return depth >= stack->functions.size() || stack->functions[depth] != heaviest->first;
    });
    if (!last_is_python) path.pop_back();
    path.push_back(heaviest->first);
    last_is_python = left.front()->is_python[depth];
  }
}

SampledStack sampled_stack(const Profile& profile, const Sample& sample) {
  SampledStack result{{}, {}, sample.weight_ns};
  std::vector<Frame> frames;
  root_to_leaf(profile, sample.stack, &frames);
  for (const Frame& frame : frames) result.functions.push_back(frame.function);
  drop_loop(profile, &result.functions);
  const size_t dropped = frames.size() - result.functions.size();
  for (size_t i = dropped; i < frames.size(); ++i) {
    result.is_python.push_back(is_python(profile.locations[frames[i].location]));
  }
  return result;
}

}  // namespace

bool is_default_name(std::string_view name) {
  constexpr std::string_view kPrefix = "Task-";
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
         std::ranges::all_of(name.substr(kPrefix.size()),
                             [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::vector<uint32_t> steps_of_samples(const View& view) {
  const Profile& profile = *view.profile;
  std::vector<uint32_t> result(view.samples.size(), kNone);
  if (profile.markers.steps.empty()) return result;
  const auto rows = steps_by_thread(profile);
  for (size_t i = 0; i < result.size(); ++i) {
    const Sample& sample = profile.samples[view.samples[i]];
    const SessionNs time_ns =
        sample.wait == kNone ? sample.time_ns : sample.time_ns.earlier(sample.weight_ns / 2);
    result[i] = step_at(profile, rows[sample.thread], time_ns);
  }
  return result;
}

TaskLabels task_labels(const View& view) {
  const Markers& markers = view.profile->markers;
  TaskLabels labels;
  if (markers.steps.empty()) return labels;
  std::map<uint32_t, uint32_t> label_of_text = {{0, 0}};
  for (const uint32_t row : steps_of_samples(view)) {
    uint32_t text = 0;
    if (row != kNone && markers.steps[row].kind != StepKind::kCallback) {
      const Step& step = markers.steps[row];
      const bool has_name = step.name != 0 && !is_default_name(markers.texts[step.name]);
      text = has_name || step.text == 0 ? step.name : step.text;
    }
    const auto next = static_cast<uint32_t>(labels.texts.size());
    const auto [label, is_new] = label_of_text.try_emplace(text, next);
    if (is_new) labels.texts.push_back(markers.texts[text]);
    labels.of_samples.push_back(label->second);
  }
  return labels;
}

std::vector<TaskRow> task_table(const View& view) {
  const Profile& profile = *view.profile;
  const Markers& markers = profile.markers;
  if (markers.steps.empty()) return {};
  using Key = std::tuple<StepKind, uint32_t, uint32_t>;
  const auto key_of = [&](const Step& step) {
    const bool has_name = !is_default_name(markers.texts[step.name]);
    return Key(step.kind, has_name ? step.name : 0, step.text);
  };
  std::map<Key, TaskRow> rows;
  std::map<Key, std::set<std::pair<uint32_t, uint64_t>>> tasks;  // by process
  std::map<Key, uint32_t> last_name;
  TaskRow outside{.outside = true};
  std::vector<bool> has_loop(profile.threads.size());
  for (const Step& step : markers.steps) has_loop[step.thread] = true;
  const std::vector<uint32_t> steps = steps_of_samples(view);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Sample& sample = profile.samples[view.samples[i]];
    if (!has_loop[sample.thread]) continue;
    TaskRow* row = &outside;
    if (steps[i] != kNone) {
      const Step& step = markers.steps[steps[i]];
      const Key key = key_of(step);
      row = &rows.try_emplace(key, TaskRow{step.kind, false, std::get<1>(key), step.text})
                 .first->second;
      row->longest_ns = std::max(row->longest_ns, uint64_t{step.end_ns - step.begin_ns});
      if (step.kind == StepKind::kTask) {
        tasks[key].emplace(profile.threads[step.thread].process, step.task);
      }
      last_name[key] = step.name;
    }
    (sample.wait == kNone               ? row->cpu
     : profile.is_runnable(sample.wait) ? row->runnable
                                        : row->waiting) += {sample.weight_ns, 1};
  }
  std::vector<TaskRow> result;
  for (auto& [key, row] : rows) {
    row.tasks = tasks[key].size();
    if (row.tasks == 1) row.name = last_name[key];
    result.push_back(row);
  }
  std::stable_sort(result.begin(), result.end(), [](const TaskRow& a, const TaskRow& b) {
    return a.cpu.ns + a.waiting.ns > b.cpu.ns + b.waiting.ns;
  });
  result.push_back(outside);
  return result;
}

namespace {

using Blocks =
    std::map<std::pair<uint32_t, uint64_t>, LoopBlock>;  // by thread and number of the step

Blocks long_steps(const View& view, uint64_t least_ns) {
  const std::vector<Step>& steps = view.profile->markers.steps;
  Blocks blocks;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.id == 0 || !view.meets(step.thread, step.begin_ns, step.end_ns)) continue;
    const auto [found, is_new] = blocks.try_emplace({step.thread, step.id});
    LoopBlock& block = found->second;
    if (is_new) block.begin_ns = step.begin_ns;
    block.end_ns = std::max(block.end_ns, step.end_ns);
    const auto length = [&](uint32_t row) {
      return row == kNone ? 0 : uint64_t{steps[row].end_ns - steps[row].begin_ns};
    };
    if (block.step == kNone || length(i) > length(block.step)) block.step = i;
  }
  std::erase_if(blocks, [&](const auto& entry) {
    return entry.second.end_ns - entry.second.begin_ns < least_ns;
  });
  return blocks;
}

}  // namespace

std::vector<LoopBlock> loop_blocks(const View& view, uint64_t least_ns) {
  const Profile& profile = *view.profile;
  const std::vector<Step>& steps = profile.markers.steps;
  if (steps.empty()) return {};
  Blocks blocks = long_steps(view, least_ns);
  std::map<const LoopBlock*, std::vector<SampledStack>> stacks;
  const std::vector<uint32_t> rows = steps_of_samples(view);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == kNone) continue;
    const auto block = blocks.find({steps[rows[i]].thread, steps[rows[i]].id});
    if (block == blocks.end()) continue;
    ++block->second.samples;
    const Sample& sample = profile.samples[view.samples[i]];
    if (sample.wait != kNone && profile.is_runnable(sample.wait)) continue;
    stacks[&block->second].push_back(sampled_stack(profile, sample));
  }
  std::vector<LoopBlock> result;
  for (auto& [key, block] : blocks) {
    if (block.samples == 0) continue;
    block.functions = heavy_path(stacks[&block]);
    result.push_back(block);
  }
  std::stable_sort(result.begin(), result.end(), [](const LoopBlock& a, const LoopBlock& b) {
    return a.end_ns - a.begin_ns > b.end_ns - b.begin_ns;
  });
  return result;
}

}  // namespace sampan::profile
