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

namespace sampan::profile {
namespace {

constexpr double kFalseAlarm = 0.01;
// With fewer samples in all workers together, nothing can be said.
constexpr uint64_t kFewSamples = 10;
constexpr size_t kMostDifferences = 3;

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
    count_mpi();
    find_rows();
    add_times();
    for (WorkerRow& row : result_.rows) summarize(row);
    std::ranges::stable_sort(result_.rows, [](const WorkerRow& a, const WorkerRow& b) {
      return std::pair(a.beyond_noise, a.excess_ns()) > std::pair(b.beyond_noise, b.excess_ns());
    });
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
    for (const uint32_t index : view_.samples) {
      const uint32_t worker = worker_of(profile_.samples[index].thread);
      if (worker < most) samples[worker].push_back(index);
    }
    for (const uint32_t thread : view_.threads) {
      if (worker_of(thread) < most) threads[worker_of(thread)].push_back(thread);
    }
    for (uint32_t worker = 0; worker < most; ++worker) {
      if (samples[worker].empty()) continue;
      parts_.push_back(view_.part(std::move(samples[worker]), std::move(threads[worker])));
      result_.workers.push_back({.name = name_of(worker), .total = total_weight(parts_.back())});
    }
  }

  void count_mpi() {
    StackFunctions on_stack(profile_, ShareOf::kTotal);
    for (size_t worker = 0; worker < parts_.size(); ++worker) {
      for (const uint32_t index : parts_[worker].samples) {
        const Sample& sample = profile_.samples[index];
        if (std::ranges::any_of(on_stack.of(sample.stack), [&](uint32_t function) {
              return is_mpi(function_name(profile_, function));
            })) {
          result_.workers[worker].mpi_ns += sample.weight_ns;
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
      result_.rows.push_back({.function = function, .ns = std::vector<double>(parts_.size(), 0.0)});
    }
    variances_.assign(wanted_.size(), std::vector<double>(parts_.size(), 0.0));
  }

  void add_times() {
    std::vector<std::vector<FunctionShare>> shares;  // by worker
    std::vector<double> mean(wanted_.size(), 0.0);
    for (size_t worker = 0; worker < parts_.size(); ++worker) {
      const auto total = static_cast<double>(result_.workers[worker].total.ns);
      shares.push_back(function_shares(parts_[worker], functions_, wanted_));
      for (size_t row = 0; row < wanted_.size(); ++row) {
        result_.rows[row].ns[worker] = shares[worker][row].share * total;
        variances_[row][worker] = shares[worker][row].variance * total * total;
        mean[row] += shares[worker][row].share / static_cast<double>(parts_.size());
      }
    }
    for (size_t worker = 0; worker < parts_.size(); ++worker) {
      measure_distance(result_.workers[worker], shares[worker], mean);
    }
  }

  void measure_distance(Worker& worker, const std::vector<FunctionShare>& shares,
                        const std::vector<double>& mean) const {
    std::vector<std::pair<double, uint32_t>> differences;
    for (size_t row = 0; row < wanted_.size(); ++row) {
      const double difference = std::abs(shares[row].share - mean[row]);
      worker.distance += difference / 2;
      differences.emplace_back(difference, wanted_[row]);
    }
    std::ranges::sort(differences, std::greater<>());
    for (size_t i = 0; i < std::min(kMostDifferences, differences.size()); ++i) {
      if (differences[i].first > 0) worker.differs_by.push_back(differences[i].second);
    }
  }

  void summarize(WorkerRow& row) {
    const std::vector<double>& variances =
        variances_[static_cast<size_t>(&row - result_.rows.data())];
    const auto workers = static_cast<double>(row.ns.size());
    double squares = 0, noise = 0;
    for (const double ns : row.ns) row.mean_ns += ns / workers;
    for (const double ns : row.ns) squares += (ns - row.mean_ns) * (ns - row.mean_ns);
    for (const double variance : variances) noise += variance / (workers * workers);
    row.deviation_ns = std::sqrt(squares / (workers - 1));
    row.least = static_cast<size_t>(std::ranges::min_element(row.ns) - row.ns.begin());
    row.most = static_cast<size_t>(std::ranges::max_element(row.ns) - row.ns.begin());
    const double comparisons = workers * static_cast<double>(result_.rows.size());
    const double quantile = two_sided_quantile(2 * kFalseAlarm / comparisons);
    row.beyond_noise = row.excess_ns() > quantile * std::sqrt(noise + variances[row.most]);
    result_.beyond_noise += row.beyond_noise;
  }

  const View& view_;
  const Profile& profile_;
  StackFunctions functions_;
  std::vector<View> parts_;                     // by worker
  std::vector<uint32_t> wanted_;                // functions, by row
  std::vector<std::vector<double>> variances_;  // ns², by row and worker
  Workers result_;
};

}  // namespace

Workers compare_workers(const View& view, ShareOf of) {
  return Comparison(view, of).finish();
}

}  // namespace sampan::profile
