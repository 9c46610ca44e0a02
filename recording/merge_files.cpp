#include "recording/merge_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include "base/error.h"
#include "recording/complete_file.h"
#include "recording/segments.h"

namespace sampan::recording {
namespace {

constexpr size_t kNotedLabels = 8;

unsigned cpus() {
  return std::max(1u, std::thread::hardware_concurrency());
}

struct Look {
  std::optional<MergeHead> head;
  std::string why;  // there is none
};

Look look_at(const MergeFile& file, const std::string& marker) {
  try {
    const Recording recording = read_whole(file.path);
    if (!recording.damage.empty()) return {{}, recording.damage.front()};
    return {head_of(file.label, recording, marker), ""};
  } catch (const std::exception& error) {  // too little memory, too
    return {{}, error.what()};
  }
}

// In the order of the files.
std::vector<Look> look_at_all(std::span<const MergeFile> files, const std::string& marker,
                              const std::function<bool()>& stopped) {
  std::vector<Look> looks(files.size());
  std::atomic<size_t> next = 0;
  std::atomic<bool> is_over = false;
  const auto work = [&] {
    for (size_t i; !is_over && (i = next++) < files.size();) looks[i] = look_at(files[i], marker);
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < cpus(); ++i) others.emplace_back(work);
  for (size_t i; !is_over && (i = next++) < files.size();) {
    looks[i] = look_at(files[i], marker);
    is_over = stopped();
  }
  others.clear();
  if (is_over) throw Error("merging was interrupted: nothing is written");
  return looks;
}

// Reads ahead, one recording for each CPU.
class Readings {
 public:
  explicit Readings(std::vector<std::string> paths) : paths_(std::move(paths)) {
    for (unsigned i = 0; i < cpus(); ++i) begin_next();
  }

  Recording next() {
    Recording recording = running_.front().get();
    running_.pop_front();
    begin_next();
    return recording;
  }

 private:
  void begin_next() {
    if (begun_ == paths_.size()) return;
    running_.push_back(std::async(std::launch::async, read_whole, paths_[begun_++]));
  }

  const std::vector<std::string> paths_;
  size_t begun_ = 0;
  std::deque<std::future<Recording>> running_;
};

std::string note_about(const std::vector<LeftOut>& left_out, size_t all) {
  std::string note = fmt::format("{} of {} recordings were left out: ", left_out.size(), all);
  for (size_t i = 0; i < std::min(left_out.size(), kNotedLabels); ++i) {
    note += fmt::format("{}{} ({})", i == 0 ? "" : ", ", left_out[i].label, left_out[i].why);
  }
  return left_out.size() > kNotedLabels ? note + ", …" : note;
}

struct Input {
  MergeHead head;
  std::string path;
  bool label_is_chosen;
};

void choose_labels(std::vector<Input>* inputs) {
  std::map<std::string, size_t> uses;
  for (const Input& input : *inputs) ++uses[input.head.session.worker_name()];
  for (const Input& input : *inputs) ++uses[input.head.label];
  for (Input& input : *inputs) {
    const std::string name = input.head.session.worker_name();
    const size_t own = input.head.label == name ? 2 : 1;
    if (!input.label_is_chosen && !name.empty() && uses[name] == own) input.head.label = name;
  }
}

// By array task and rank; those without a number last.
auto place_of(const Input& input) {
  const auto number = [&](const char* name) {
    const std::string text = input.head.session.label(name);
    uint64_t value = UINT64_MAX;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  return std::pair(number(vocabulary::kArrayTask), number(vocabulary::kRank));
}

}  // namespace

MergedFiles merge_files(std::span<const MergeFile> files, const std::string& path,
                        const MergeAlign& align, const std::function<bool()>& stopped) {
  MergedFiles result;
  std::vector<Input> inputs;
  std::vector<Look> looks = look_at_all(files, align.marker, stopped);
  for (size_t i = 0; i < files.size(); ++i) {
    Look& look = looks[i];
    if (look.head && !inputs.empty() &&
        look.head->session.unit != inputs.front().head.session.unit) {
      const MergeHead& first = inputs.front().head;
      look.why = fmt::format("it counts {}, and {} counts {}", look.head->session.counted(),
                             first.label, first.session.counted());
      look.head.reset();
    }
    if (!look.head) {
      result.left_out.push_back({files[i].label, look.why});
      continue;
    }
    inputs.push_back({std::move(*look.head), files[i].path, files[i].label_is_chosen});
  }
  if (inputs.empty()) {
    throw Error("there is no recording to merge{}",
                files.empty() ? "" : ": " + note_about(result.left_out, files.size()));
  }
  choose_labels(&inputs);
  std::ranges::stable_sort(inputs, {}, place_of);
  std::vector<MergeHead> heads;
  std::vector<std::string> paths;
  for (Input& input : inputs) {
    heads.push_back(std::move(input.head));
    paths.push_back(std::move(input.path));
  }
  result.merged = heads.size();
  result.alignment = recording::align(heads, align.how);

  Session session = common_session(heads);
  session.start_unix_ns = result.alignment.start_ns;
  CompleteFile file(path, session, merged_origins(heads), stopped);
  Merger merger;
  Readings readings(std::move(paths));
  for (size_t i = 0; i < heads.size(); ++i) {
    const Recording recording = readings.next();
    if (recording.processes.size() != heads[i].processes) {
      throw Error("{} changed while it was read: merge it when its recording has ended",
                  heads[i].label);
    }
    merger.add(recording, result.alignment.later_ns[i]);
    file.add(merger.take_new());
  }
  file.add(merger.take_sums());
  SessionEnd end = merged_end(heads, result.alignment);
  if (!result.left_out.empty()) {
    end.note += (end.note.empty() ? "" : "; ") + note_about(result.left_out, files.size());
  }
  file.finish(end, merger.names());
  return result;
}

}  // namespace sampan::recording
