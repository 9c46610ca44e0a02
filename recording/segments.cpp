#include "recording/segments.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "recording/combiner.h"

namespace sampan::recording {
namespace {

// The latest end of a process or thread, and its CPU summed over all segments.
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

// The combined row of a row that other segments may have, too.
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

// An end at the end of a segment is dropped when the next segment has the row, too: it continued.
template <typename End, typename Index>
void take_ends(std::vector<End>* ends, Index index, const std::vector<uint32_t>& places,
               SessionNs begin_ns, std::vector<SumOfEnds<End>>* sums) {
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

// Earlier losses are needed only for processes that the earlier segments did not have.
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

// Files begin with the rate and the cost that the file before ended with: not added again.
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

// Files begin with the settings that the file before ended with: not added again.
void drop_known_settings(std::map<std::pair<uint32_t, Watched>, uint64_t>* known,
                         const std::vector<uint32_t>& processes, std::vector<WatchChange>* rows) {
  std::erase_if(*rows, [&](const WatchChange& row) {
    const auto [setting, is_new] =
        known->try_emplace({processes[row.process], row.what}, row.setting);
    return !is_new && std::exchange(setting->second, row.setting) == row.setting;
  });
}

// Files begin with the blocks that live: those that an earlier file has are not added again.
void drop_known_blocks(std::set<std::pair<uint32_t, uint64_t>>* known, const Recording& joined,
                       const std::vector<uint32_t>& threads, std::vector<Allocation>* rows) {
  std::erase_if(*rows, [&](const Allocation& row) {
    const uint32_t process = joined.threads[threads[row.thread]].process;
    return !known->insert({process, row.id}).second && row.earlier;
  });
}

// Pieces of a section that follow each other become one section; the oldest first.
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

// kSegment follows the block of the session, which is about as long as the command line.
constexpr size_t kHead = size_t{64} << 10;
// Samples may be this much older than the segment that has them.
constexpr uint64_t kLateNs = 200'000'000;

std::optional<uint32_t> number_of(const std::filesystem::path& file) {
  const std::string name = file.filename();
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || std::string_view(end) != ".sampan") return std::nullopt;
  return number;
}

// The begin of the segment; empty when it cannot be read.
std::optional<SessionNs> begin_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string head(kHead, '\0');
  const ssize_t size = ::read(fd, head.data(), head.size());
  ::close(fd);
  if (size <= 0) return std::nullopt;
  head.resize(static_cast<size_t>(size));
  try {
    return parse(head, path).segment.value_or(Segment()).begin_ns;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The segments from the one with `from_ns` to the one with `to_ns`.
std::vector<std::string> overlapping(const std::vector<std::string>& files, SessionNs from_ns,
                                     SessionNs to_ns) {
  if (from_ns == 0 && to_ns == UINT64_MAX) return files;
  std::vector<std::string> chosen;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const std::optional<SessionNs> begin_ns = begin_of(*file);
    if (!begin_ns || (*begin_ns > kLateNs && *begin_ns - kLateNs >= to_ns)) continue;
    chosen.insert(chosen.begin(), *file);
    if (*begin_ns <= from_ns) break;
  }
  return chosen;
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
  std::map<std::pair<uint32_t, Watched>, uint64_t> settings;  // the latest of a process
  std::set<std::pair<uint32_t, uint64_t>> blocks;             // process and id
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
  drop_known_settings(&to.settings, places.processes, &from.watch_changes);
  drop_known_blocks(&to.blocks, to.combiner.combined(), places.threads, &from.allocations);
  add_rates(from.rates, &to.combiner.combined().rates);
  to.combiner.add_rows(from, places, 0);
}

Recording Joiner::finish() {
  State& from = *state_;
  Recording joined = from.combiner.take();
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

std::string segment_file_name(uint32_t number) {
  return fmt::format("{:06}.sampan", number);
}

std::vector<std::string> segment_files(const std::string& directory) {
  std::vector<std::pair<uint32_t, std::string>> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (const auto number = number_of(entry.path())) found.emplace_back(*number, entry.path());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> files;
  for (auto& [number, path] : found) files.push_back(std::move(path));
  return files;
}

Recording read_segments(const std::vector<std::string>& files, SessionNs from_ns, SessionNs to_ns) {
  Joiner joiner;
  std::string problem;
  bool any = false;
  for (const std::string& path : overlapping(files, from_ns, to_ns)) {
    try {
      joiner.add(read(path));
      any = true;
    } catch (const Error& error) {
      if (::access(path.c_str(), F_OK) == 0) problem = error.what();  // else deleted meanwhile
    }
  }
  if (!any && !problem.empty()) throw Error("{}", problem);
  if (!any) throw Error("no segment of the recording is there to be read");
  Recording joined = joiner.finish();
  if (!problem.empty()) joined.damage.push_back(problem);
  return cut(std::move(joined), from_ns, to_ns);
}

Recording read_whole(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return rebased(read(path));
  return rebased(read_segments(segment_files(path)));
}

}  // namespace sampan::recording
