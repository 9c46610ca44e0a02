// Which samples of a recording have not been seen before, when it is read again and again.
//
// A sample may be written after others that are later: a wait is written when it ends, or after a
// second. But those of one thread and wait come in the order of their times.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "recording/reader.h"

namespace sampan::top {

class NewSamples {
 public:
  // How much later than its time a sample may be written: read again from so long before.
  static constexpr uint64_t kLatest = 2'500'000'000;

  // Removes the samples that an earlier call has left in.
  void keep(recording::Recording* recording);

 private:
  using Key = std::tuple<int32_t, uint64_t, std::string, std::string>;  // tid, start, wait
  std::map<Key, uint64_t> last_ns_;
};

}  // namespace sampan::top
