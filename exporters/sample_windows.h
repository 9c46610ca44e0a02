// The samples of each thread in the order of time, and fewer of them where a viewer cannot have
// all.
//
// Samples of one thread, stack and state that lie in the same window of time can be taken for one,
// which comes when the first of them came and weighs what they weigh together. So the weight of
// each stack of each thread stays exactly what it is, however long the window; what is lost is the
// order within it.
//
// Where even that leaves too many, because there are too many stacks, some samples stand for the
// others: in each equal part of the thread's weight the one at a random place (stratified
// sampling), so that what a stack weighs is an estimate without bias. The weights of each thread,
// on CPU and waiting, stay exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::exporters {

struct WindowSample {
  uint64_t time_ns = 0;  // since the session's start, of the first
  uint64_t weight_ns = 0;
  uint64_t samples = 0;  // that it stands for
  uint32_t stack = profile::kNone;
  bool waiting = false;
};

class SampleWindows {
 public:
  explicit SampleWindows(const profile::View& view);

  // Of the thread at a position in view.threads, by time. Valid until the next call.
  const std::vector<WindowSample>& samples(size_t position);

  // Of all samples of that thread.
  profile::Weight weight(size_t position) const;

  // Makes the window the shortest with which size() bytes are at most `max_size` (0: any number);
  // where none is, leaves out as few samples as that takes. The same view is made smaller in the
  // same way each time. Returns a note for the person, when there is something to say. Before it,
  // every sample stays itself.
  std::vector<std::string> fit(uint64_t max_size, const std::function<uint64_t()>& size);

 private:
  void thin();

  const profile::View& view_;
  uint64_t window_ns_ = 0;         // 0: none
  uint64_t stride_ = 1;            // one of so many samples is kept
  std::vector<size_t> first_;      // into sorted_, by position in view.threads; and one more
  std::vector<uint32_t> sorted_;   // samples, by thread and time
  std::vector<WindowSample> out_;  // of the last call
  std::vector<size_t> last_;       // into out_: the last sample of a stack, if that is still there
};

}  // namespace sampan::exporters
