// speedscope's own JSON, for https://www.speedscope.app. Format: file-format-schema.json of the npm
// package speedscope.
//
// - "$schema" must be exact, or the file is taken for another format.
// - One sampled profile per thread, its samples by time, root to leaf. The first profile is shown
//   first: the busiest thread.
// - The axis of a thread is its CPU time, with wall time also its waiting: weights in nanoseconds.
// - Frames are identified by index, so each function is one frame, shared by all threads.
//   speedscope colours by file, so a function whose file is unknown has its module there.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "exporters/escaped_text.h"
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "exporters/sample_windows.h"
#include "exporters/thread_names.h"
#include "profile/frames.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

using profile::kNone;

void append_number(uint64_t number, std::string* out) {
  const fmt::format_int digits(number);
  out->append(digits.data(), digits.size());
}

// Numbers the frames of the stacks of a view's samples.
class Frames {
 public:
  explicit Frames(const profile::View& view)
      : profile_(*view.profile),
        numbers_(profile_.functions.size() + 1, kNone),
        sizes_(profile_.stacks.size()) {
    std::vector<bool> used(profile_.stacks.size());
    for (const uint32_t sample : view.samples) {
      uint32_t stack = profile_.samples[sample].stack;
      if (stack == kNone) number(kNone);
      for (; stack != kNone && !used[stack]; stack = profile_.stacks[stack].prefix) {
        used[stack] = true;
      }
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      const profile::Stack& stack = profile_.stacks[i];
      sizes_[i] = stack.prefix == kNone ? 2 : sizes_[stack.prefix];  // the brackets
      profile::for_each_frame(profile_, stack.location, [&](const profile::Frame& frame) {
        sizes_[i] += fmt::format_int(number(frame.function)).size() + 1;
      });
    }
  }

  // "[0,4,7]", root first.
  void append_stack(uint32_t stack, std::string* out) {
    profile::root_to_leaf(profile_, stack, &frames_);
    if (frames_.empty()) frames_.push_back({});
    char separator = '[';
    for (const profile::Frame& frame : frames_) {
      *out += separator;
      append_number(number(frame.function), out);
      separator = ',';
    }
    *out += ']';
  }
  // The bytes of that text and a comma.
  uint64_t size(uint32_t stack) const { return stack == kNone ? 10 : sizes_[stack]; }

  std::string json() const {
    std::string text = "[";
    for (const uint32_t function : used_) {
      text += text.size() == 1 ? "\n" : ",\n";
      text += R"({"name":)" + json_string(profile::function_name(profile_, function));
      if (function != kNone) append_place(profile_.functions[function], &text);
      text += '}';
    }
    return text + "]";
  }

 private:
  uint32_t number(uint32_t function) {
    uint32_t& number = numbers_[function == kNone ? profile_.functions.size() : function];
    if (number == kNone) {
      number = static_cast<uint32_t>(used_.size());
      used_.push_back(function);
    }
    return number;
  }

  void append_place(const profile::Function& function, std::string* text) const {
    const std::string& file = profile_.strings[function.file];
    const std::string_view module =
        function.module == kNone ? "" : std::string_view(profile_.modules[function.module].path);
    if (file.empty() && module.empty()) return;
    *text += R"(,"file":)" + json_string(file.empty() ? module : file);
    if (function.line != 0) *text += fmt::format(R"(,"line":{})", function.line);
  }

  const profile::Profile& profile_;
  std::vector<uint32_t> numbers_;  // by function, then that of samples without one
  std::vector<uint32_t> used_;     // functions, by number
  std::vector<uint64_t> sizes_;    // by stack
  std::vector<profile::Frame> frames_;
};

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const profile::View& view, OutputFile& file)
      : view_(view), session_(view.profile->session), file_(file), windows_(view), frames_(view) {}

  // What was done to stay within `max_size`.
  Outcome write(uint64_t max_size) {
    fit(max_size);
    const std::vector<std::string> labels = thread_labels(view_);
    file_.write(R"({"$schema":"https://www.speedscope.app/file-format-schema.json",)"
                R"("exporter":"sampan","activeProfileIndex":0,"name":)");
    file_.write(json_string(view_.profile->session.program));
    file_.write(",\n\"profiles\":[");
    bool first = true;
    for (const size_t position : windows_.busiest_first()) {
      if (windows_.samples(position).empty()) continue;
      if (!first) file_.write(",");
      first = false;
      write_thread(labels[position], windows_.samples(position));
    }
    file_.write("],\n\"shared\":{\"frames\":" + frames_.json() + "}}\n");
    return std::move(outcome_);
  }

 private:
  void fit(uint64_t max_size) {
    const std::string frames = frames_.json();
    outcome_.notes = windows_.fit(max_size, [&] {
      uint64_t size = frames.size();
      for (size_t position = 0; position < view_.threads.size(); ++position) {
        for (const WindowSample& sample : windows_.samples(position)) {
          size += frames_.size(sample.stack) + fmt::format_int(sample.weight_ns).size() + 1;
        }
      }
      return size;
    });
  }

  void write_thread(const std::string& label, const std::vector<WindowSample>& samples) {
    uint64_t end = 0;
    for (const WindowSample& sample : samples) end += weight(sample);
    file_.write(fmt::format(R"(
{{"type":"sampled","name":{},"unit":"{}","startValue":0,"endValue":{},"samples":[)",
                            json_string(label), unit(), end));
    write_list(samples,
               [&](const WindowSample& sample) { frames_.append_stack(sample.stack, &text_); });
    file_.write("],\n\"weights\":[");
    write_list(samples, [&](const WindowSample& sample) { append_number(weight(sample), &text_); });
    file_.write("]}");
  }

  uint64_t weight(const WindowSample& sample) const {
    return profile::whole_units(session_, sample.weight_ns);
  }

  std::string_view unit() const {
    if (session_.unit.empty()) return "nanoseconds";
    return session_.unit == "bytes" ? "bytes" : "none";
  }

  template <typename Append>
  void write_list(const std::vector<WindowSample>& samples, const Append& append) {
    bool first = true;
    for (const WindowSample& sample : samples) {
      text_ = first ? "" : ",";
      first = false;
      append(sample);
      file_.write(text_);
    }
  }

  const profile::View& view_;
  const profile::Session& session_;
  OutputFile& file_;
  SampleWindows windows_;
  Frames frames_;
  Outcome outcome_;
  std::string text_;  // scratch
};

}  // namespace

Outcome write_speedscope(const profile::View& view, const std::string& path, uint64_t max_size) {
  OutputFile file(path);
  Outcome outcome = SpeedscopeWriter(view, file).write(max_size);
  file.commit();
  return outcome;
}

}  // namespace sampan::exporters
