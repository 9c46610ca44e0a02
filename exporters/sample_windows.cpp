#include "exporters/sample_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <utility>

#include "base/units.h"
#include "profile/locks.h"
#include "profile/weights.h"

namespace sampan::exporters {
namespace {
constexpr uint64_t kUsualRate = 250;

// The samples of a thread in one state, some of which are kept.
class Kept {
 public:
  void add(const WindowSample& sample) {
    total_ns_ += sample.weight_ns;
    total_samples_ += sample.samples;
    ++count_;
  }

  // After all are added: one of `stride` is kept.
  void choose(uint64_t stride) {
    count_ = (count_ + stride - 1) / stride;
    if (count_ != 0) place_ = place();
  }

  // The weight that the next sample represents; empty when it is left out.
  profile::Weight take(uint64_t weight_ns) {
    passed_ns_ += weight_ns;
    const uint64_t first = picks_;
    for (; picks_ < count_ && place_ < passed_ns_; place_ = place()) ++picks_;
    return {begin(total_ns_, picks_) - begin(total_ns_, first),
            begin(total_samples_, picks_) - begin(total_samples_, first)};
  }

 private:
  // The k-th of equal parts of `total`, rounded so that the parts sum to it.
  uint64_t begin(uint64_t total, uint64_t k) const {
    return total / count_ * k + total % count_ * k / count_;
  }

  // At random within the next part: places at equal distances could coincide with periodic work of
  // a thread.
  uint64_t place() {
    const uint64_t first = begin(total_ns_, picks_), size = begin(total_ns_, picks_ + 1) - first;
    const double share = static_cast<double>(random_() - random_.min()) /
                         static_cast<double>(random_.max() - random_.min() + 1);
    return first + static_cast<uint64_t>(share * static_cast<double>(size));
  }

  uint64_t total_ns_ = 0, total_samples_ = 0, count_ = 0;
  uint64_t passed_ns_ = 0, picks_ = 0, place_ = 0;
  std::minstd_rand random_;  // begins the same each time
};

}  // namespace

SampleWindows::SampleWindows(const profile::View& view, const std::vector<uint32_t>& labels)
    : view_(view),
      first_(view.threads.size() + 1),
      sorted_(view.samples.size()),
      labels_(labels.size()) {
  const profile::Profile& profile = *view.profile;
  std::vector<size_t> position(profile.threads.size(), 0);
  for (size_t i = 0; i < view.threads.size(); ++i) position[view.threads[i]] = i;
  const auto position_of = [&](uint32_t sample) {
    return position[view.thread_of(profile.samples[sample].thread)];
  };
  for (const uint32_t sample : view.samples) ++first_[position_of(sample) + 1];
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for (size_t i = 0; i < view.samples.size(); ++i) {
    const size_t place = next[position_of(view.samples[i])]++;
    sorted_[place] = view.samples[i];
    if (!labels.empty()) labels_[place] = labels[i];
  }
}

const std::vector<WindowSample>& SampleWindows::samples(size_t position) {
  const profile::Profile& profile = *view_.profile;
  out_.clear();
  if (window_ns_ != 0) last_.resize(2 * (profile.stacks.size() + 1));
  size_t window_begin = 0;  // into out_
  for (size_t i = first_[position]; i < first_[position + 1]; ++i) {
    const profile::Sample& sample = profile.samples[sorted_[i]];
    WindowSample one = {sample.time_ns,
                        sample.weight_ns,
                        1,
                        sample.stack,
                        sample.wait != profile::kNone,
                        labels_.empty() ? 0 : labels_[i]};
    if (profile.shown == profile::Shown::kLocks) {
      const profile::LockWait& wait = profile.lock_waits[sorted_[i]];
      one.waits = profile::waits_of(wait);
      one.longest_ns = wait.duration_ns;
    }
    if (window_ns_ != 0) {
      if (!out_.empty() && out_.back().time_ns / window_ns_ != one.time_ns / window_ns_) {
        window_begin = out_.size();
      }
      const size_t stack = one.stack == profile::kNone ? profile.stacks.size() : one.stack;
      size_t& last = last_[2 * stack + (one.waiting ? 1 : 0)];
      if (last >= window_begin && last < out_.size() && out_[last].stack == one.stack &&
          out_[last].waiting == one.waiting && out_[last].label == one.label) {
        out_[last].weight_ns += one.weight_ns;
        ++out_[last].samples;
        out_[last].waits += one.waits;
        out_[last].longest_ns = std::max(out_[last].longest_ns, one.longest_ns);
        continue;
      }
      last = out_.size();
    }
    out_.push_back(one);
  }
  if (stride_ > 1) thin();
  return out_;
}

void SampleWindows::thin() {
  Kept kept[2];  // on CPU, waiting
  for (const WindowSample& sample : out_) kept[sample.waiting].add(sample);
  for (Kept& state : kept) state.choose(stride_);
  std::erase_if(out_, [&kept](WindowSample& sample) {
    const profile::Weight weight = kept[sample.waiting].take(sample.weight_ns);
    if (sample.weight_ns != 0) {
      sample.waits *= static_cast<double>(weight.ns) / static_cast<double>(sample.weight_ns);
    }
    sample.weight_ns = weight.ns;
    sample.samples = weight.samples;
    return weight.ns == 0;
  });
}

std::vector<size_t> SampleWindows::busiest_first() const {
  std::vector<std::pair<uint64_t, uint64_t>> used(view_.threads.size());  // CPU; and waiting, ns
  for (size_t position = 0; position < used.size(); ++position) {
    for (size_t i = first_[position]; i < first_[position + 1]; ++i) {
      const profile::Sample& sample = view_.profile->samples[sorted_[i]];
      auto& [cpu_ns, waited_ns] = used[position];
      (sample.wait == profile::kNone ? cpu_ns : waited_ns) += sample.weight_ns;
    }
  }
  std::vector<size_t> positions(used.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::stable_sort(positions, std::greater<>(),
                           [&](size_t position) { return used[position]; });
  return positions;
}

std::vector<std::string> SampleWindows::fit(uint64_t max_size,
                                            const std::function<uint64_t()>& size) {
  const profile::Profile& profile = *view_.profile;
  uint64_t now = max_size == 0 ? 0 : size();
  if (now <= max_size || view_.samples.empty()) return {};
  const uint64_t rate = profile.session.rate_hz != 0 ? profile.session.rate_hz : kUsualRate;
  const SessionNs end_ns = profile.samples[view_.samples.back()].time_ns;
  window_ns_ = kNsPerSecond / rate;
  do {
    window_ns_ *= 2;
    now = size();
  } while (now > max_size && window_ns_ <= end_ns);
  while (now > max_size && stride_ < view_.samples.size()) {
    stride_ *= 2;
    now = size();
  }
  const std::string least =
      now <= max_size ? fmt::format("at most {:.1f} MB", static_cast<double>(max_size) / 1e6)
                      : fmt::format("no more than {:.1f} MB", static_cast<double>(now) / 1e6);
  constexpr const char* kAdvice = "--thread, --from and --to show a part in full";
  if (stride_ == 1) {
    return {
        fmt::format("samples of one stack within {:.3g} s are one sample, so that the file has {}: "
                    "times are as coarse, totals are exact. {}",
                    static_cast<double>(window_ns_) / kNsPerSecond, least, kAdvice)};
  }
  return {
      fmt::format("one of {} samples stands for the others, so that the file has {}: totals of "
                  "threads are exact, those of functions are estimates. {}",
                  stride_, least, kAdvice)};
}

}  // namespace sampan::exporters
