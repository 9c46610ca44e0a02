#include "profile/function_shares.h"

#include <algorithm>

#include "profile/statistics.h"

namespace sampan::profile {
namespace {

std::vector<double> weights_of(const View& view, ShareBy by) {
  std::vector<double> weights;
  for (const uint32_t index : view.samples) {
    const double ns = static_cast<double>(view.profile->samples[index].weight_ns);
    weights.push_back(by == ShareBy::kTime ? ns : 1);
  }
  return weights;
}

}  // namespace

const std::vector<uint32_t>& StackFunctions::of(uint32_t stack) {
  const auto [place, is_new] = known_.try_emplace(stack);
  if (is_new) place->second = find(stack);
  return place->second;
}

std::vector<uint32_t> StackFunctions::find(uint32_t stack) {
  if (stack == kNone) return {kNone};
  leaf_to_root(profile_, stack, &frames_);
  if (of_ == ShareOf::kSelf) return {frames_.front().function};
  std::vector<uint32_t> functions;
  for (const Frame& frame : frames_) functions.push_back(frame.function);
  std::sort(functions.begin(), functions.end());
  functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
  return functions;
}

std::vector<FunctionShare> function_shares(const View& view, StackFunctions& of,
                                           const std::vector<uint32_t>& functions, ShareBy by) {
  std::unordered_map<uint32_t, size_t> rows;
  for (size_t row = 0; row < functions.size(); ++row) rows[functions[row]] = row;
  const std::vector<double> weights = weights_of(view, by);
  const ShareNoise noise(weights);
  std::vector<ShareNoise::Part> parts(functions.size());
  for (ShareNoise::Part& part : parts) part.by_block.resize(noise.blocks());
  for (size_t i = 0; i < view.samples.size(); ++i) {
    for (const uint32_t function : of.of(view.profile->samples[view.samples[i]].stack)) {
      const auto row = rows.find(function);
      if (row == rows.end()) continue;
      ShareNoise::Part& part = parts[row->second];
      part.weight += weights[i];
      part.squares += weights[i] * weights[i];
      part.by_block[noise.block_of(i)] += weights[i];
    }
  }
  std::vector<FunctionShare> shares;
  for (const ShareNoise::Part& part : parts) {
    shares.push_back({part.weight / noise.total(), noise.variance(part)});
  }
  return shares;
}

}  // namespace sampan::profile
