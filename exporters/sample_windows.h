// The samples of each thread by time, and fewer of them if a viewer cannot have all.
//
// Samples of one thread, stack, state and label in the same window of time are replaced by one sample, at
// the time of the first and with their total weight. So the weight of each stack of each thread
// stays exact, however long the window is; only the order within a window is lost.
//
// If there are still too many samples, because there are too many stacks, some samples represent
// the others: the one at a random place in each equal part of the thread's weight (stratified
// sampling), so that the weight of a stack is an unbiased estimate. The weights of each thread, on
// CPU and waiting, stay exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "profile/view.h"

namespace sampan::exporters {

struct WindowSample {
  SessionNs time_ns = 0;  // since the session's start, of the first
  uint64_t weight_ns = 0;
  uint64_t samples = 0;  // that it stands for
  uint32_t stack = profile::kNone;
  bool waiting = false;
  uint32_t label = 0;
  // Of waits for locks: how many they are in truth, and the longest of those that were drawn.
  double waits = 0;
  uint64_t longest_ns = 0;
};

class SampleWindows {
 public:
  // `labels`: by position in view.samples; empty: all 0.
  explicit SampleWindows(const profile::View& view, const std::vector<uint32_t>& labels = {});

  // The samples of the thread at a position in view.threads, by time. Valid until the next call.
  const std::vector<WindowSample>& samples(size_t position);

  // Positions in view.threads: the threads that used most CPU first, then those that waited longest.
  std::vector<size_t> busiest_first() const;

  // Chooses the shortest window for which size() is at most `max_size` bytes (0: any number). If
  // there is none, leaves out as few samples as possible. The result is the same each time. Returns
  // a note for the user, if there is something to say. Without this call, all samples are kept.
  std::vector<std::string> fit(uint64_t max_size, const std::function<uint64_t()>& size);

 private:
  void thin();

  const profile::View& view_;
  uint64_t window_ns_ = 0;         // 0: none
  uint64_t stride_ = 1;            // one of so many samples is kept
  std::vector<size_t> first_;      // into sorted_, by position in view.threads; and one more
  std::vector<uint32_t> sorted_;   // samples, by thread and time
  std::vector<uint32_t> labels_;   // of sorted_; empty: all 0
  std::vector<WindowSample> out_;  // of the last call
  std::vector<size_t> last_;       // into out_: the last sample of a stack, if that is still there
};

}  // namespace sampan::exporters
