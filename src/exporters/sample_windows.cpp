#include "exporters/sample_windows.h"

#include <fmt/format.h>

namespace sampan::exporters {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kUsualRate = 250;

}  // namespace

SampleWindows::SampleWindows(const profile::View& view)
    : view_(view), first_(view.threads.size() + 1), sorted_(view.samples.size()) {
  const profile::Profile& profile = *view.profile;
  std::vector<size_t> position(profile.threads.size(), 0);
  for (size_t i = 0; i < view.threads.size(); ++i) position[view.threads[i]] = i;
  const auto position_of = [&](uint32_t sample) {
    return position[view.thread_of(profile.samples[sample].thread)];
  };
  for (const uint32_t sample : view.samples) ++first_[position_of(sample) + 1];
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for (const uint32_t sample : view.samples) sorted_[next[position_of(sample)]++] = sample;
}

const std::vector<WindowSample>& SampleWindows::samples(size_t position) {
  const profile::Profile& profile = *view_.profile;
  out_.clear();
  if (window_ns_ != 0) last_.resize(2 * (profile.stacks.size() + 1));
  size_t window_begin = 0;  // into out_
  for (size_t i = first_[position]; i < first_[position + 1]; ++i) {
    const profile::Sample& sample = profile.samples[sorted_[i]];
    const WindowSample one = {sample.time_ns, sample.weight_ns, 1, sample.stack,
                              sample.wait != profile::kNone};
    if (window_ns_ != 0) {
      if (!out_.empty() && out_.back().time_ns / window_ns_ != one.time_ns / window_ns_) {
        window_begin = out_.size();
      }
      const size_t stack = one.stack == profile::kNone ? profile.stacks.size() : one.stack;
      size_t& last = last_[2 * stack + (one.waiting ? 1 : 0)];
      if (last >= window_begin && last < out_.size() && out_[last].stack == one.stack &&
          out_[last].waiting == one.waiting) {
        out_[last].weight_ns += one.weight_ns;
        ++out_[last].samples;
        continue;
      }
      last = out_.size();
    }
    out_.push_back(one);
  }
  return out_;
}

profile::Weight SampleWindows::weight(size_t position) const {
  profile::Weight sum;
  for (size_t i = first_[position]; i < first_[position + 1]; ++i) {
    sum += {view_.profile->samples[sorted_[i]].weight_ns, 1};
  }
  return sum;
}

std::vector<std::string> SampleWindows::fit(uint64_t max_size,
                                            const std::function<uint64_t()>& size) {
  const profile::Profile& profile = *view_.profile;
  uint64_t now = max_size == 0 ? 0 : size();
  if (now <= max_size || view_.samples.empty()) return {};
  const uint64_t rate = profile.session.rate_hz != 0 ? profile.session.rate_hz : kUsualRate;
  const uint64_t end_ns = profile.samples[view_.samples.back()].time_ns;
  window_ns_ = kNsPerSecond / rate;
  do {
    window_ns_ *= 2;
    now = size();
  } while (now > max_size && window_ns_ <= end_ns);
  return {fmt::format(
      "samples of one stack within {:.3g} s are one sample, so that the file has {}: times are as "
      "coarse, totals are exact. --thread, --from and --to show a part in full",
      static_cast<double>(window_ns_) / kNsPerSecond,
      now <= max_size ? fmt::format("at most {:.1f} MB", static_cast<double>(max_size) / 1e6)
                      : fmt::format("no more than {:.1f} MB; fewer need fewer stacks",
                                    static_cast<double>(now) / 1e6))};
}

}  // namespace sampan::exporters
