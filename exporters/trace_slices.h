// Makes slices from samples: the functions on a thread's stack, each with its begin and end.
//
// A sample represents the time [time - weight, time]. These overlap. A thread's CPU time and its
// sample's time are not read in one instant, above all from outside: of samples on CPU alone, the earlier
// one moves back. With waits, more does: a wait is seen to end when the thread has gone on, and how long
// a thread queued for CPUs is a sum of many turns. There a sample takes the latest time before its end
// that no earlier sample has taken, perhaps in pieces.
//
// A track of a trace is a pid and a tid. A thread that executes another program keeps both, so what it
// did before and after are one track: the first sample after exec reaches back before it.
//
// A sample continues the previous one, unless the thread was off the CPU in between for noticeably
// longer: then all slices end at the earlier sample, and new ones begin with the time of the later one.
// Functions that continued samples share, from the root on, stay in the same slice. Slices of a thread
// are strictly nested.
//
// Times are whole microseconds, as in the trace: viewers add ts and dur, and with fractions the
// sums would not be exact. Shorter samples are left out. A slice that would begin when one of the
// same name ends begins a microsecond later, because speedscope would nest it in the other.
#pragma once

#include <cstdint>
#include <vector>

#include "exporters/stack_nodes.h"

namespace sampan::exporters {

// Receives the slices. close() closes the innermost open one.
class SliceSink {
 public:
  virtual ~SliceSink() = default;
  virtual void open(uint32_t function, uint64_t begin_us) = 0;
  virtual void close(uint64_t end_us) = 0;
};

class TraceSlices {
 public:
  explicit TraceSlices(const profile::View& view);

  struct Track {
    uint32_t thread;                // of the profile: the first of this pid and tid
    std::vector<uint32_t> samples;  // of the profile, by time
  };
  const std::vector<Track>& tracks() const { return tracks_; }

  void build(const Track& track, SliceSink& sink);

 private:
  // A sample, or a part of it, and the time in which it is drawn.
  struct Piece {
    uint32_t sample;
    SessionNs begin_ns, end_ns;
  };
  // Threads of one pid and tid become one track where each begins after the one before.
  void add_tracks(const profile::View& view);
  // Set pieces_, in their order.
  void place_cpu(const std::vector<uint32_t>& samples);
  void place_all(const std::vector<uint32_t>& samples);
  // The nodes from the root's child to `node`.
  void path_to(uint32_t node);
  // Whether an open slice from `depth` on has the name of the node.
  bool name_is_open(uint32_t node, size_t depth);

  const profile::Profile& profile_;
  const bool accounts_for_all_time_;  // waits, too
  std::vector<Track> tracks_;
  uint64_t longest_pause_ns_;  // that is not yet a gap
  StackNodes nodes_;
  std::vector<Piece> pieces_;   // of one thread
  std::vector<uint32_t> path_;  // scratch
  std::vector<uint32_t> open_;  // nodes of the slices that are open, root first
};

}  // namespace sampan::exporters
