#include "recording/join.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "recording/combiner.h"

namespace sampan::recording {
namespace {

// The end of what has the latest row in the segment that was added last, and its CPU in all.
template <typename End>
struct SumOfEnds {
  std::optional<End> latest;
  uint64_t cpu_ns = 0;

  void add(const End& end) {
    latest = end;
    cpu_ns += end.cpu_ns.value_or(0);
  }
  std::optional<End> end() const {
    std::optional<End> sum = latest;
    if (sum && sum->cpu_ns) sum->cpu_ns = cpu_ns;
    return sum;
  }
};

// The place of a row that other segments may have too.
template <typename Row>
uint32_t place_of(const Row& row, std::unordered_map<uint32_t, uint32_t>* known, Combiner* to) {
  if (row.id != kNone) {
    const auto found = known->find(row.id);
    if (found != known->end()) return found->second;
  }
  Row added = row;
  added.id = kNone;
  const uint32_t place = to->add(std::move(added));
  if (row.id != kNone) known->emplace(row.id, place);
  return place;
}

// Ends at the end of the segment before are none: what is in this one too has gone on.
template <typename End, typename Index>
void take_ends(std::vector<End>* ends, Index index, const std::vector<uint32_t>& places,
               uint64_t begin_ns, std::vector<SumOfEnds<End>>* sums) {
  for (const uint32_t place : places) {
    if (place >= sums->size()) sums->resize(place + 1);
    auto& latest = (*sums)[place].latest;
    if (latest && latest->time_ns >= begin_ns) latest.reset();
  }
  for (End end : *ends) {
    end.*index = places[end.*index];
    (*sums)[end.*index].add(end);
  }
  ends->clear();
}

// Where counters stood before is of interest of processes that the segments before did not have.
void add_losses(const Recording& from, size_t processes_before, const Combiner::Places& places,
                Combiner* to) {
  for (Losses row : from.losses) {
    row.process = mapped(row.process, places.processes);
    to->add(row);
  }
  for (Losses row : from.earlier_losses) {
    row.process = places.processes[row.process];
    if (row.process >= processes_before) to->combined().earlier_losses.push_back(row);
  }
}

// What a file begins with has been said by the one before.
void add_rates(const Rates& from, Rates* to) {
  for (const RateChange& row : from.changes) {
    const bool goes_on = !to->changes.empty() && to->changes.back().rate_hz == row.rate_hz &&
                         to->changes.back().governed == row.governed;
    if (!goes_on) to->changes.push_back(row);
  }
  for (const Cost& row : from.costs) {
    if (to->costs.empty() || to->costs.back() != row) to->costs.push_back(row);
  }
}

// Pieces of the same section, one behind the other, are one section; the oldest first.
std::vector<Section> whole_sections(const std::vector<Section>& pieces) {
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint64_t>;
  std::map<Key, std::deque<size_t>> open;
  std::vector<Section> whole;
  for (const Section& piece : pieces) {
    size_t at = whole.size();
    const auto before = open.find({piece.process, piece.thread, piece.name, piece.begin_ns});
    if (before != open.end()) {
      at = before->second.front();
      before->second.pop_front();
      if (before->second.empty()) open.erase(before);
      whole[at].end_ns = piece.end_ns;
      whole[at].closed = piece.closed;
    } else {
      whole.push_back(piece);
    }
    if (piece.closed == Closed::kBySegmentEnd) {
      open[{piece.process, piece.thread, piece.name, piece.end_ns}].push_back(at);
    }
  }
  return whole;
}

std::vector<Pause> whole_pauses(const std::vector<Pause>& pieces) {
  std::vector<Pause> whole;
  std::unordered_map<uint32_t, size_t> latest;  // by process
  for (const Pause& piece : pieces) {
    const auto before = latest.find(piece.process);
    if (before != latest.end() && whole[before->second].end_ns == piece.begin_ns) {
      whole[before->second].end_ns = piece.end_ns;
    } else {
      latest[piece.process] = whole.size();
      whole.push_back(piece);
    }
  }
  return whole;
}

}  // namespace

struct Joiner::State {
  Combiner combiner;
  bool any = false;
  Session session;
  std::optional<Segment> first;
  uint32_t next_number = 0;
  std::optional<SessionEnd> end;
  std::vector<std::string> damage;
  std::unordered_map<uint32_t, uint32_t> processes, threads;  // by id
  std::vector<SumOfEnds<ProcessEnd>> process_ends;
  std::vector<SumOfEnds<ThreadEnd>> thread_ends;
};

Joiner::Joiner() : state_(std::make_unique<State>()) {}
Joiner::~Joiner() = default;

void Joiner::add(Recording from) {
  State& to = *state_;
  const auto [number, begin_ns, earlier_cpu_ns] = from.segment.value_or(Segment());
  if (!to.any) {
    to.any = true;
    to.session = from.session;
    to.first = from.segment;
  } else if (number > to.next_number) {
    to.damage.push_back(fmt::format("segments {} to {} are missing", to.next_number, number - 1));
  }
  to.next_number = number + 1;
  to.session.rate_hz = std::max(to.session.rate_hz, from.session.rate_hz);
  to.end = std::move(from.end);
  for (const std::string& what : from.damage) {
    to.damage.push_back(fmt::format("segment {}: {}", number, what));
  }

  const size_t processes_before = to.combiner.combined().processes.size();
  Combiner::Places places;
  for (const Process& row : from.processes) {
    places.processes.push_back(place_of(row, &to.processes, &to.combiner));
  }
  for (Thread& row : from.threads) {
    row.process = places.processes[row.process];
    places.threads.push_back(place_of(row, &to.threads, &to.combiner));
  }
  take_ends(&from.process_ends, &ProcessEnd::process, places.processes, begin_ns, &to.process_ends);
  take_ends(&from.thread_ends, &ThreadEnd::thread, places.threads, begin_ns, &to.thread_ends);
  add_losses(from, processes_before, places, &to.combiner);
  add_rates(from.rates, &to.combiner.combined().rates);
  to.combiner.add_rows(from, places, 0);
}

Recording Joiner::finish() {
  State& from = *state_;
  Recording joined = std::move(from.combiner.combined());
  joined.session = std::move(from.session);
  joined.segment = from.first;
  joined.end = std::move(from.end);
  joined.damage = std::move(from.damage);
  for (const auto& sum : from.process_ends) {
    if (const auto end = sum.end()) joined.process_ends.push_back(*end);
  }
  for (const auto& sum : from.thread_ends) {
    if (const auto end = sum.end()) joined.thread_ends.push_back(*end);
  }
  joined.markers.sections = whole_sections(joined.markers.sections);
  joined.markers.pauses = whole_pauses(joined.markers.pauses);
  return joined;
}

}  // namespace sampan::recording
