#include "profile/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "profile/frames.h"
#include "profile/statistics.h"
#include "profile/worker_markers.h"

namespace sampan::profile {
namespace {

constexpr double kFalseAlarm = 0.01;
// With fewer samples in all workers together, nothing can be said.
constexpr uint64_t kFewSamples = 10;
constexpr size_t kMostDifferences = 3;
// A worker that differs from the mean so many times as much as the median worker does is not one of many.
constexpr double kOutlierDistance = 2;

// "MPI_Allreduce", "PMPI_Wait": the names of the standard, with or without a profiling layer.
bool is_mpi(std::string_view name) {
  return name.starts_with("MPI_") || name.starts_with("PMPI_");
}

class Comparison {
 public:
  Comparison(const View& view, ShareOf of)
      : view_(view), profile_(*view.profile), functions_(profile_, of) {}

  Workers finish() {
    split();
    if (parts_.size() < 2) {
      throw Error(
          "{} has samples: a comparison needs two, such as recordings merged by sampan merge",
          parts_.empty() ? "no worker" : "only one worker");
    }
    count_waiting();
    find_rows();
    add_times();
    for (size_t row = 0; row < result_.rows.size(); ++row) judge(row);
    find_outliers();
    std::ranges::stable_sort(result_.rows, [](const WorkerRow& a, const WorkerRow& b) {
      return std::pair(a.beyond_noise, a.ns.excess()) > std::pair(b.beyond_noise, b.ns.excess());
    });
    compare_markers(view_, worker_of_thread_, &result_);
    return std::move(result_);
  }

 private:
  // kNone: a damaged recording may not say.
  uint32_t worker_of(uint32_t thread) const {
    const uint32_t process = profile_.threads[thread].process;
    if (process == kNone || profile_.origins.size() < 2) return process;
    return profile_.processes[process].origin;
  }

  std::string name_of(uint32_t worker) const {
    if (profile_.origins.size() > 1) return profile_.origins[worker].label;
    const Process& process = profile_.processes[worker];
    return fmt::format("{} {}", process.name, process.pid);
  }

  void split() {
    const size_t most =
        profile_.origins.size() > 1 ? profile_.origins.size() : profile_.processes.size();
    std::vector<std::vector<uint32_t>> samples(most), threads(most);
    std::vector<uint32_t> part_of(most, kNone);
    for (const uint32_t index : view_.samples) {
      const uint32_t worker = worker_of(profile_.samples[index].thread);
      if (worker < most) samples[worker].push_back(index);
    }
    for (const uint32_t thread : view_.threads) {
      if (worker_of(thread) < most) threads[worker_of(thread)].push_back(thread);
    }
    for (uint32_t worker = 0; worker < most; ++worker) {
      if (samples[worker].empty()) continue;
      part_of[worker] = static_cast<uint32_t>(parts_.size());
      parts_.push_back(view_.part(std::move(samples[worker]), std::move(threads[worker])));
      result_.workers.push_back({.name = name_of(worker), .total = total_weight(parts_.back())});
    }
    for (uint32_t thread = 0; thread < profile_.threads.size(); ++thread) {
      const uint32_t worker = worker_of(thread);
      worker_of_thread_.push_back(worker < most ? part_of[worker] : kNone);
    }
  }

  void count_waiting() {
    std::vector<bool> in_mpi(profile_.stacks.size());
    StackFunctions on_stack(profile_, ShareOf::kTotal);
    for (uint32_t stack = 0; stack < in_mpi.size(); ++stack) {
      in_mpi[stack] = std::ranges::any_of(on_stack.of(stack), [&](uint32_t function) {
        return is_mpi(function_name(profile_, function));
      });
    }
    for (size_t worker = 0; worker < parts_.size(); ++worker) {
      for (const uint32_t index : parts_[worker].samples) {
        const Sample& sample = profile_.samples[index];
        if (sample.stack != kNone && in_mpi[sample.stack]) {
          result_.workers[worker].mpi_ns += sample.weight_ns;
        } else if (sample.wait != kNone) {
          result_.workers[worker].waiting_ns += sample.weight_ns;
        }
      }
    }
  }

  void find_rows() {
    std::unordered_map<uint32_t, uint64_t> samples;
    for (const uint32_t index : view_.samples) {
      for (const uint32_t function : functions_.of(profile_.samples[index].stack)) {
        ++samples[function];
      }
    }
    for (const auto& [function, count] : samples) {
      if (count >= kFewSamples) wanted_.push_back(function);
    }
    std::ranges::sort(wanted_);
    for (const uint32_t function : wanted_) {
      result_.rows.push_back({function, Spread(parts_.size())});
    }
    noise_.assign(wanted_.size(), 0.0);
    variances_.assign(wanted_.size(), std::vector<double>(parts_.size(), 0.0));
  }

  void add_times() {
    const auto count = static_cast<double>(parts_.size());
    std::vector<std::vector<FunctionShare>> shares;  // by worker
    std::vector<double> mean(wanted_.size(), 0.0);
    for (size_t worker = 0; worker < parts_.size(); ++worker) {
      const auto total = static_cast<double>(result_.workers[worker].total.ns);
      shares.push_back(function_shares(parts_[worker], functions_, wanted_));
      for (size_t row = 0; row < wanted_.size(); ++row) {
        const FunctionShare& each = shares[worker][row];
        result_.rows[row].ns.values[worker] = each.share * total;
        variances_[row][worker] = each.variance * total * total;
        mean[row] += each.share / count;
        noise_[row] += each.variance / (count * count);
      }
    }
    for (size_t worker = 0; worker < parts_.size(); ++worker) {
      measure_distance(result_.workers[worker], shares[worker], mean);
    }
  }

  // The standard deviations by which equal workers may differ, with the probability of a false alarm in all of them.
  double quantile(int sides) const {
    const double comparisons =
        static_cast<double>(parts_.size()) * static_cast<double>(wanted_.size());
    return two_sided_quantile(kFalseAlarm * (3 - sides) / comparisons);
  }

  void measure_distance(Worker& worker, const std::vector<FunctionShare>& shares,
                        const std::vector<double>& mean) const {
    std::vector<Difference> beyond;
    const auto size = [](const Difference& each) { return std::abs(each.share - each.mean_share); };
    for (size_t row = 0; row < wanted_.size(); ++row) {
      const Difference each{wanted_[row], shares[row].share, mean[row]};
      worker.distance += size(each) / 2;
      const double noise = std::sqrt(shares[row].variance + noise_[row]);
      if (size(each) > quantile(2) * noise) beyond.push_back(each);
    }
    std::ranges::sort(beyond, std::greater<>(), size);
    beyond.resize(std::min(kMostDifferences, beyond.size()));
    worker.differs_by = std::move(beyond);
  }

  void judge(size_t row) {
    WorkerRow& result = result_.rows[row];
    const auto workers = static_cast<double>(parts_.size());
    result.ns.summarize();
    double noise = variances_[row][result.ns.most];
    for (const double variance : variances_[row]) noise += variance / (workers * workers);
    result.beyond_noise = result.ns.excess() > quantile(1) * std::sqrt(noise);
    result_.beyond_noise += result.beyond_noise;
  }

  void find_outliers() {
    std::vector<double> distances;
    for (const Worker& worker : result_.workers) distances.push_back(worker.distance);
    const auto median = distances.begin() + static_cast<ptrdiff_t>((distances.size() - 1) / 2);
    std::ranges::nth_element(distances, median);
    const double usual = *median;
    for (Worker& worker : result_.workers) {
      worker.is_outlier = !worker.differs_by.empty() && worker.distance > kOutlierDistance * usual;
    }
  }

  const View& view_;
  const Profile& profile_;
  StackFunctions functions_;
  std::vector<View> parts_;                     // by worker
  std::vector<uint32_t> worker_of_thread_;      // kNone: of none with samples in the view
  std::vector<uint32_t> wanted_;                // functions, by row
  std::vector<std::vector<double>> variances_;  // ns², by row and worker
  std::vector<double> noise_;                   // the variance of the mean share, by row
  Workers result_;
};

}  // namespace

void Spread::summarize() {
  const auto workers = static_cast<double>(values.size());
  double squares = 0;
  mean = 0;
  for (const double value : values) mean += value / workers;
  for (const double value : values) squares += (value - mean) * (value - mean);
  deviation = std::sqrt(squares / (workers - 1));
  least = static_cast<size_t>(std::ranges::min_element(values) - values.begin());
  most = static_cast<size_t>(std::ranges::max_element(values) - values.begin());
}

Workers compare_workers(const View& view, ShareOf of) {
  return Comparison(view, of).finish();
}

}  // namespace sampan::profile
