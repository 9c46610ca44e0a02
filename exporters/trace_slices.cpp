#include "exporters/trace_slices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/units.h"
#include "exporters/trace_events.h"

namespace sampan::exporters {
namespace {
// A thread that shares its CPU fairly with another is off it for about one tick at a time.
constexpr double kPauseTicks = 1.5;
constexpr uint32_t kUsualRate = 250;

}  // namespace

TraceSlices::TraceSlices(const profile::View& view)
    : profile_(*view.profile), accounts_for_all_time_(view.is_of_wall_time()), nodes_(profile_) {
  const uint32_t rate = profile_.session.rate_hz != 0 ? profile_.session.rate_hz : kUsualRate;
  longest_pause_ns_ = static_cast<uint64_t>(kPauseTicks * kNsPerSecond / rate);
  add_tracks(view);
}

void TraceSlices::add_tracks(const profile::View& view) {
  std::vector<std::vector<uint32_t>> samples(profile_.threads.size());
  for (const uint32_t sample : view.samples) {
    samples[view.thread_of(profile_.samples[sample].thread)].push_back(sample);
  }
  const std::vector<int32_t> pids = trace_pids(profile_);
  std::map<std::pair<int32_t, int32_t>, size_t> last;  // track of a pid and tid
  for (const uint32_t thread : view.threads) {
    std::vector<uint32_t>& own = samples[thread];
    if (own.empty()) continue;
    const profile::Thread& row = profile_.threads[thread];
    const auto [found, is_new] = last.try_emplace({pids[row.process], row.tid}, tracks_.size());
    if (!is_new) {
      std::vector<uint32_t>& before = tracks_[found->second].samples;
      if (profile_.samples[before.back()].time_ns <= profile_.samples[own.front()].time_ns) {
        before.insert(before.end(), own.begin(), own.end());
        continue;
      }
      found->second = tracks_.size();
    }
    tracks_.push_back({thread, std::move(own)});
  }
}

void TraceSlices::path_to(uint32_t node) {
  path_.clear();
  for (; node != 0; node = nodes_.tree()[node].parent) path_.push_back(node);
  std::reverse(path_.begin(), path_.end());
}

bool TraceSlices::name_is_open(uint32_t node, size_t depth) {
  const auto name = [&](uint32_t i) {
    const uint32_t function = nodes_.tree()[i].function;
    return function == profile::kNone ? profile::kNone : profile_.functions[function].name;
  };
  return std::any_of(open_.begin() + static_cast<ptrdiff_t>(depth), open_.end(),
                     [&](uint32_t open) { return name(open) == name(node); });
}

void TraceSlices::place_cpu(const std::vector<uint32_t>& samples) {
  pieces_.clear();
  SessionNs placed_ns = 0;  // where all that came before would end if it left no gap
  for (const uint32_t index : samples) {
    const profile::Sample& sample = profile_.samples[index];
    const uint64_t weight_ns = std::min(sample.weight_ns, sample.time_ns.since(placed_ns));
    placed_ns = placed_ns + weight_ns;
    pieces_.push_back({index, sample.time_ns.earlier(weight_ns), sample.time_ns});
  }
  for (size_t i = pieces_.size(); i-- > 1;) {
    Piece& before = pieces_[i - 1];
    if (before.end_ns <= pieces_[i].begin_ns) continue;
    before.begin_ns = before.begin_ns.earlier(before.end_ns - pieces_[i].begin_ns);
    before.end_ns = pieces_[i].begin_ns;
  }
}

void TraceSlices::place_all(const std::vector<uint32_t>& samples) {
  struct Gap {
    SessionNs begin_ns, end_ns;
  };
  std::vector<Gap> gaps;  // what is still free before `free_ns`
  SessionNs free_ns = 0;
  pieces_.clear();
  for (const uint32_t index : samples) {
    const profile::Sample& sample = profile_.samples[index];
    if (free_ns < sample.time_ns) gaps.push_back({free_ns, sample.time_ns});
    free_ns = std::max(free_ns, sample.time_ns);
    for (uint64_t left_ns = sample.weight_ns; left_ns != 0 && !gaps.empty();) {
      Gap& gap = gaps.back();
      const SessionNs begin_ns = std::max(gap.begin_ns, gap.end_ns.earlier(left_ns));
      pieces_.push_back({index, begin_ns, gap.end_ns});
      left_ns -= gap.end_ns - begin_ns;
      gap.end_ns = begin_ns;
      if (gap.begin_ns == gap.end_ns) gaps.pop_back();
    }
  }
  std::ranges::stable_sort(pieces_, {}, &Piece::begin_ns);
}

void TraceSlices::build(const Track& track, SliceSink& sink) {
  accounts_for_all_time_ ? place_all(track.samples) : place_cpu(track.samples);
  if (pieces_.empty()) return;
  SessionNs last_ns = pieces_.front().begin_ns;  // end of the piece before
  uint64_t end_us = last_ns / kNsPerUs;          // of the slices that are open
  const auto close_down_to = [&](size_t depth) {
    for (; open_.size() > depth; open_.pop_back()) sink.close(end_us);
  };

  for (const auto& [index, begin_ns, sample_end_ns] : pieces_) {
    const profile::Sample& sample = profile_.samples[index];
    const bool gap = begin_ns > last_ns && begin_ns - last_ns > longest_pause_ns_;
    uint64_t begin_us = gap ? std::max(begin_ns / kNsPerUs, end_us) : end_us;
    const uint64_t sample_end_us = sample_end_ns / kNsPerUs;
    last_ns = sample_end_ns;
    if (sample_end_us <= begin_us) continue;

    if (gap) close_down_to(0);
    path_to(nodes_.node(sample.stack));
    size_t shared = 0;
    while (shared < open_.size() && shared < path_.size() && open_[shared] == path_[shared]) {
      ++shared;
    }
    if (shared < path_.size() && begin_us == end_us && begin_us + 1 < sample_end_us &&
        name_is_open(path_[shared], shared)) {
      ++begin_us;
    }
    close_down_to(shared);
    for (; shared < path_.size(); ++shared) {
      sink.open(nodes_.tree()[path_[shared]].function, begin_us);
      open_.push_back(path_[shared]);
    }
    end_us = sample_end_us;
  }
  close_down_to(0);
}

}  // namespace sampan::exporters
