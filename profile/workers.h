// The workers of one job beside each other: where one does more than the others, all wait for it.
//
// The workers are the recordings of a merged one, or the processes of one recording. A function's time in the worker that
// has most of it, above the mean, is what a barrier after it would cost.
//
// That is compared with the noise of sampling (ShareNoise in statistics.h): with a probability of 99 %, no function of equal
// workers is beyond it (Bonferroni, over functions and workers). Spans and counters are not sampled, and have no noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/function_shares.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

// Which function a worker differs by, beyond the noise of sampling.
struct Difference {
  uint32_t function = kNone;
  double share = 0, mean_share = 0;  // of the worker's time; the mean over the workers
};

struct Worker {
  std::string name;  // the label of its recording; the name and the pid of a process
  Weight total;      // of its samples in the view
  // Its time is spent in calls of MPI, which wait for other workers by computing or by sleeping; in other waits, if
  // those were sampled; or in computing.
  uint64_t mpi_ns = 0, waiting_ns = 0;
  uint64_t computing_ns() const { return total.ns - mpi_ns - waiting_ns; }
  // From 0, the same as all, to 1, nothing in common: half the sum of the differences between its functions' shares
  // and the mean shares.
  double distance = 0;
  // Those that make most of the distance, most first.
  std::vector<Difference> differs_by = {};
  // It differs beyond noise, and twice as much as most do.
  bool is_outlier = false;
};

// A quantity in each of the workers.
struct Spread {
  std::vector<double> values;  // by worker
  double mean = 0;
  double deviation = 0;        // standard deviation over the workers
  size_t least = 0, most = 0;  // workers

  explicit Spread(size_t workers) : values(workers, 0.0) {}
  void summarize();  // after the values are set
  double highest() const { return values[most]; }
  double lowest() const { return values[least]; }
  // The worker with the most, above the mean.
  double excess() const { return highest() - mean; }
  double imbalance() const { return highest() / mean; }
};

struct WorkerRow {
  uint32_t function = kNone;
  Spread ns;
  bool beyond_noise = false;
};

// The durations of the spans with one name, summed up: whole, also where they overlap.
struct WorkerSpan {
  uint32_t name = 0;  // into Markers::texts
  Spread ns;
};

// A counter that never fell is a total: the last value counts. For another one, the mean of its values does. A worker
// without the counter has 0.
struct WorkerCounter {
  uint32_t name = 0;  // into Markers::texts
  bool is_total = true;
  Spread values;
};

struct Workers {
  std::vector<Worker> workers;          // in the order of the recordings, or of the processes
  std::vector<WorkerRow> rows;          // those beyond noise first, then by excess
  std::vector<WorkerSpan> spans;        // by excess
  std::vector<WorkerCounter> counters;  // by deviation/mean
  size_t beyond_noise = 0;              // how many rows
};

// The profile is symbolized and its functions are matched (diff.h). Workers without samples are left out. Throws Error if
// there are fewer than two.
Workers compare_workers(const View& view, ShareOf of);

}  // namespace sampan::profile
