// The text of `perf script`, also that of `sampan export --format perf-script`. Format: linux tools/perf/builtin-script.c.
//
//   worker 100/101 [002]     1.004000:    4000000 cpu-clock:
//                4711 work(void*)+0x12 (/usr/bin/app)
//
// - Before the time stand the command's name, which may have blanks, the pid if it was asked for, the tid, and the CPU in
//   brackets. The period may be missing.
// - A sample ends with a blank line. Frames are leaf first; "(inlined)" is a function in the next frame's code.
// - A file has one or more events, of which one is imported: Options::weight, else the one with the most samples. cpu-clock
//   and task-clock are CPU in ns; other events are counted. Without periods, samples are counted.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "importers/formats.h"
#include "importers/perf_records.h"
#include "importers/recording_builder.h"
#include "importers/text_lines.h"

namespace sampan::importers {
namespace {

struct Head {
  std::string_view name;
  int32_t pid = 0, tid = 0;
  uint64_t time_ns = 0;
  std::optional<uint64_t> period;
  std::string_view event;
};

// "12.345678:" in ns.
std::optional<uint64_t> time_of(std::string_view word) {
  if (!word.ends_with(':')) return std::nullopt;
  word.remove_suffix(1);
  const size_t point = word.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const std::string_view digits = word.substr(point + 1);
  const auto seconds = number_of<uint64_t>(word.substr(0, point)),
             part = number_of<uint64_t>(digits);
  constexpr size_t kDigits = 9;
  if (!seconds || !part || digits.size() > kDigits || *seconds > UINT32_MAX) return std::nullopt;
  uint64_t ns = *part;
  for (size_t i = digits.size(); i < kDigits; ++i) ns *= 10;
  return *seconds * kNsPerSecond + ns;
}

// The thread, which is before the time: "100/101" or "101", and perhaps "[002]".
bool take_thread(std::string_view before, Head* head) {
  const auto take_last = [&before] {
    before = trimmed(before);
    const size_t blank = before.find_last_of(" \t");
    const std::string_view word = before.substr(blank == std::string_view::npos ? 0 : blank + 1);
    before.remove_suffix(word.size());
    return word;
  };
  std::string_view ids = take_last();
  if (ids.starts_with('[')) ids = take_last();
  const size_t slash = ids.find('/');
  const auto tid =
      number_of<int32_t>(slash == std::string_view::npos ? ids : ids.substr(slash + 1));
  const auto pid = number_of<int32_t>(ids.substr(0, slash));
  if (!tid || !pid) return false;
  head->pid = *pid;
  head->tid = *tid;
  head->name = trimmed(before);
  return !head->name.empty();
}

std::optional<Head> parse_head(std::string_view line) {
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    at = std::min(line.find_first_of(" \t", begin), line.size());
    const auto time_ns = time_of(line.substr(begin, at - begin));
    Head head;
    if (!time_ns || !take_thread(line.substr(0, begin), &head)) continue;
    head.time_ns = *time_ns;
    std::string_view rest = line.substr(at), word = take_word(&rest);
    head.period = number_of<uint64_t>(word);
    if (head.period) word = take_word(&rest);
    if (word.size() < 2 || !word.ends_with(':')) return std::nullopt;
    head.event = without_modifiers(word.substr(0, word.size() - 1));
    return head;
  }
  return std::nullopt;
}

struct FrameText {
  uint64_t address = 0;
  std::string_view function;  // "": unknown
  std::string_view module;    // "": unknown
  bool is_inlined = false;
};

// "  4711 work(void*)+0x12 (/usr/bin/app)"
std::optional<FrameText> parse_frame(std::string_view line) {
  line = trimmed(line);
  FrameText frame;
  const auto address = number_of<uint64_t>(take_word(&line), 16);
  if (!address) return std::nullopt;
  frame.address = *address;
  constexpr std::string_view kDeleted = " (deleted))";
  const size_t end = line.ends_with(kDeleted) ? line.size() - kDeleted.size() : line.size() - 1;
  const size_t open = line.ends_with(')') ? line.rfind(" (", end - 1) : std::string_view::npos;
  if (open != std::string_view::npos) {
    frame.module = line.substr(open + 2, end - open - 2);
    line = line.substr(0, open);
  }
  frame.is_inlined = frame.module == "inlined";
  if (frame.module == "[unknown]") frame.module = {};
  const size_t plus = line.rfind("+0x");
  const bool has_offset =
      plus != std::string_view::npos && number_of<uint64_t>(line.substr(plus + 3), 16).has_value();
  frame.function = has_offset ? line.substr(0, plus) : line;
  if (frame.function == "[unknown]") frame.function = {};
  return frame;
}

bool is_clock(std::string_view event) {
  return event == "cpu-clock" || event == "task-clock";
}

// Calls sample(head, frames) for each one.
template <typename Sample>
void for_each_sample(std::string_view bytes, const Sample& sample) {
  std::optional<Head> head;
  std::vector<FrameText> frames;
  const auto end_sample = [&] {
    if (head) sample(*head, frames);
    head.reset();
    frames.clear();
  };
  while (!bytes.empty()) {
    const std::string_view line = take_line(&bytes);
    if (line.starts_with('#')) continue;
    if (trimmed(line).empty()) {
      end_sample();
    } else if (!head) {
      head = parse_head(line);
    } else if (const auto frame = parse_frame(line)) {
      frames.push_back(*frame);
    } else if (const auto next = parse_head(line)) {  // of a sample without frames
      end_sample();
      head = next;
    }
  }
  end_sample();
}

std::map<std::string, uint64_t> samples_by_event(std::string_view bytes) {
  std::map<std::string, uint64_t> samples;
  for_each_sample(bytes,
                  [&](const Head& head, const auto&) { ++samples[std::string(head.event)]; });
  if (samples.empty()) throw Error("it has no samples");
  return samples;
}

class PerfScriptReader {
 public:
  PerfScriptReader(const std::map<std::string, uint64_t>& samples, const Options& options)
      : event_(chosen_event(samples, options.weight)), rate_hz_(options.rate_hz) {
    builder_.note_left_out(samples, event_);
  }

  recording::Recording read(std::string_view bytes) {
    bool has_periods = true;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    for_each_sample(bytes, [&](const Head& head, const auto&) {
      if (head.event != event_) return;
      has_periods = has_periods && head.period.has_value();
      first_ns = std::min(first_ns, head.time_ns);
      last_ns = std::max(last_ns, head.time_ns);
    });
    set_unit(has_periods);
    for_each_sample(bytes, [&](const Head& head, const std::vector<FrameText>& frames) {
      if (head.event != event_) return;
      const uint32_t thread = builder_.thread(builder_.process(head.pid, process_name(head)),
                                              head.tid, std::string(head.name));
      builder_.sample(thread, stack_of(frames), SessionNs::at(head.time_ns - first_ns),
                      weight(has_periods ? *head.period : 1));
    });
    return builder_.take(last_ns - first_ns);
  }

 private:
  void set_unit(bool has_periods) {
    recording::Session& session = builder_.session();
    session.rate_hz = rate_hz_;
    if (has_periods && (is_clock(event_) || event_ == "wall-clock")) return;
    if (!has_periods && rate_hz_ != 0) {
      scale_ = kNsPerSecond / rate_hz_;
      return;
    }
    scale_ = weight_of(1);
    session.unit = has_periods ? event_ : "samples";
  }

  uint64_t weight(uint64_t period) const {
    if (period > INT64_MAX / scale_) throw Error("a period of {} is too large", period);
    return period * scale_;
  }

  // A process is called what its first thread is called that was seen.
  std::string process_name(const Head& head) {
    return process_names_.try_emplace(head.pid, head.name).first->second;
  }

  uint32_t stack_of(const std::vector<FrameText>& frames) {
    places_.clear();
    std::string_view module;
    // Root first: what is inlined is in the code of the frame that called it.
    for (size_t i = frames.size(); i-- > 0;) {
      const FrameText& frame = frames[i];
      if (!frame.is_inlined) module = frame.module;
      const uint32_t row = module.empty() ? kNone : builder_.module(std::string(module));
      const std::string name =
          !frame.function.empty()
              ? std::string(frame.function)
              : "[unknown" + (module.empty() ? "" : " in " + std::string(module)) + "]";
      places_.push_back(builder_.frame(row, {.function = name}));
    }
    std::ranges::reverse(places_);
    return builder_.stack(places_);
  }

  const std::string event_;
  const uint32_t rate_hz_;
  uint64_t scale_ = 1;
  RecordingBuilder builder_;
  std::map<int32_t, std::string> process_names_;
  std::vector<uint32_t> places_;
};

}  // namespace

bool is_perf_script(std::string_view bytes) {
  constexpr int kLines = 100;
  for (int i = 0; i < kLines && !bytes.empty(); ++i) {
    const std::string_view line = take_line(&bytes);
    if (line.starts_with('#') || trimmed(line).empty()) continue;
    return parse_head(line).has_value();
  }
  return false;
}

recording::Recording read_perf_script(std::string_view bytes, const Options& options) {
  return PerfScriptReader(samples_by_event(bytes), options).read(bytes);
}

}  // namespace sampan::importers
