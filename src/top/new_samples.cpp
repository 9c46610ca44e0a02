#include "top/new_samples.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sampan::top {

void NewSamples::keep(recording::Recording* recording) {
  struct Stream {
    uint64_t before_ns;  // has been seen up to there
    uint64_t* last_ns;
    bool is_new;
  };
  std::unordered_map<uint64_t, Stream> streams;  // by thread and wait, rows of this recording
  const auto stream_of = [&](const recording::Sample& sample) -> Stream& {
    const auto [place, is_new] =
        streams.try_emplace(uint64_t{sample.thread} << 32 | sample.wait, Stream{});
    if (!is_new) return place->second;
    const recording::Thread& thread = recording->threads[sample.thread];
    const recording::Wait wait =
        sample.wait == recording::kNone ? recording::Wait{} : recording->waits[sample.wait];
    const auto [last, first] =
        last_ns_.try_emplace(Key(thread.tid, thread.start_ns, wait.call, wait.object), 0);
    return place->second = {last->second, &last->second, first};
  };
  uint64_t latest_ns = 0;
  std::erase_if(recording->samples, [&](const recording::Sample& sample) {
    Stream& stream = stream_of(sample);
    if (!stream.is_new && sample.time_ns <= stream.before_ns) return true;
    *stream.last_ns = std::max(*stream.last_ns, sample.time_ns);
    latest_ns = std::max(latest_ns, sample.time_ns);
    return false;
  });
  // What is older than what is read again needs no memory.
  std::erase_if(last_ns_,
                [&](const auto& entry) { return entry.second + 2 * kLatest < latest_ns; });
}

}  // namespace sampan::top
