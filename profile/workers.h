// The workers of one job beside each other: where one does more than the others, all wait for it.
//
// The workers are the recordings of a merged one, or the processes of one recording. A function's time in the worker that
// has most of it, above the mean, is what a barrier after it would cost.
//
// That is compared with the noise of sampling (ShareNoise in statistics.h): with a probability of 99 %, no function of equal
// workers is beyond it (Bonferroni, over functions and workers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/function_shares.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

struct Worker {
  std::string name;     // the label of its recording; the name and the pid of a process
  Weight total;         // of its samples in the view
  uint64_t mpi_ns = 0;  // in calls of MPI, which wait for other workers
  // From 0, the same as all, to 1, nothing in common: half the sum of the differences between its functions' shares
  // and the mean shares.
  double distance = 0;
  // The functions that make most of the distance, most first.
  std::vector<uint32_t> differs_by = {};
};

struct WorkerRow {
  uint32_t function = kNone;
  std::vector<double> ns;  // by worker
  double mean_ns = 0;
  double deviation_ns = 0;     // standard deviation over the workers
  size_t least = 0, most = 0;  // workers
  bool beyond_noise = false;

  double most_ns() const { return ns[most]; }
  double least_ns() const { return ns[least]; }
  // The time of the slowest worker above the mean.
  double excess_ns() const { return most_ns() - mean_ns; }
  double imbalance() const { return most_ns() / mean_ns; }
};

struct Workers {
  std::vector<Worker> workers;  // in the order of the recordings, or of the processes
  std::vector<WorkerRow> rows;  // those beyond noise first, then by excess
  size_t beyond_noise = 0;      // how many
};

// The profile is symbolized and its functions are matched (diff.h). Workers without samples are left out. Throws Error if
// there are fewer than two.
Workers compare_workers(const View& view, ShareOf of);

}  // namespace sampan::profile
