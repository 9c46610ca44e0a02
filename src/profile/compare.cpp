#include "profile/compare.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "profile/frames.h"

namespace sampan::profile {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Profile load_sides(recording::MergeInput a, recording::MergeInput b) {
  std::vector<std::string> sides = {a.label, b.label};
  const auto processes_of_a = a.recording.processes.size();
  std::vector<recording::MergeInput> inputs;
  inputs.push_back(std::move(a));
  inputs.push_back(std::move(b));
  Profile profile = load(merge(std::move(inputs), recording::Align::kStart));
  profile.sides = std::move(sides);
  for (Thread& thread : profile.threads) thread.side = thread.process < processes_of_a ? 0 : 1;
  return profile;
}

void match_functions(Profile& profile) {
  std::map<std::tuple<uint32_t, std::string_view, std::string_view>, uint32_t> first;
  std::vector<uint32_t> same(profile.functions.size());
  for (uint32_t i = 0; i < same.size(); ++i) {
    const Function& function = profile.functions[i];
    const std::string_view file = file_name(profile.strings[function.file]);
    same[i] = first.try_emplace({function.name, file, module_name(profile, function.module)}, i)
                  .first->second;
  }
  for (Line& line : profile.lines) {
    if (line.function != kNone) line.function = same[line.function];
  }
}

View only_side(const View& view, unsigned side) {
  const Profile& profile = *view.profile;
  const auto is_of_side = [&](uint32_t thread) { return profile.threads[thread].side == side; };
  std::vector<uint32_t> samples, threads;
  std::copy_if(view.samples.begin(), view.samples.end(), std::back_inserter(samples),
               [&](uint32_t index) { return is_of_side(profile.samples[index].thread); });
  std::copy_if(view.threads.begin(), view.threads.end(), std::back_inserter(threads), is_of_side);
  return view.part(std::move(samples), std::move(threads));
}

}  // namespace sampan::profile
