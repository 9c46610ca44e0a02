// Spans as lines of JSON (https://jsonlines.org), one for each begin and one for each end, by time.
// docs/exports.md describes the lines.
//
// At the same time, ends come before begins, and inner ends before outer ones. So the lines of a
// thread's nested spans are properly nested, also those of spans that took no time. Ids are texts
// of 16 hexadecimal digits, as in OpenTelemetry, because many readers of JSON have numbers of 53
// bits.
#include "profile/spans.h"
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "exporters/escaped_text.h"
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "profile/markers.h"

namespace sampan::exporters {
namespace {

using profile::duration_ns;
using profile::kNone;
using profile::Span;

class SpanLines {
 public:
  SpanLines(const profile::View& view, OutputFile& file)
      : profile_(*view.profile),
        spans_(profile_.markers.spans),
        file_(file),
        begins_(markers_of(view).spans),
        parents_(span_parents(profile_)),
        texts_(profile_.markers.texts.size()) {
    for (const profile::Thread& thread : profile_.threads) {
      const profile::Process& process = profile_.processes[thread.process];
      threads_.push_back(
          fmt::format(R"("process":{},"process_name":{},"thread":{},"thread_name":{})", process.pid,
                      json_string(process.name), thread.tid, json_string(thread.name)));
    }
  }

  void write() {
    std::vector<uint32_t> ends = begins_;
    std::sort(ends.begin(), ends.end(), [&](uint32_t a, uint32_t b) {
      const auto key = [&](uint32_t span) {
        return std::tuple(end_ns(span), is_empty(span), ~spans_[span].begin_ns, ~span);
      };
      return key(a) < key(b);
    });
    auto begin = begins_.begin();
    for (const uint32_t end : ends) {
      for (; begin != begins_.end() && comes_before(*begin, end); ++begin) write_begin(*begin);
      write_end(end);
    }
  }

 private:
  SessionNs end_ns(uint32_t span) const {
    return std::max(spans_[span].begin_ns, spans_[span].end_ns);
  }
  bool is_empty(uint32_t span) const { return end_ns(span) == spans_[span].begin_ns; }
  // The begin of one before the end of the other.
  bool comes_before(uint32_t begin, uint32_t end) const {
    const SessionNs begin_ns = spans_[begin].begin_ns;
    return begin_ns < end_ns(end) || (begin_ns == end_ns(end) && is_empty(end));
  }

  void write_begin(uint32_t span) {
    start("begin", spans_[span].begin_ns);
    finish(span, spans_[span].thread);
  }

  void write_end(uint32_t span) {
    static constexpr const char* kClosed[] = {"program", "thread_end", "process_end",
                                              "segment_end"};
    start("end", end_ns(span));
    append(R"("duration":{}.{:09},"closed_by":"{}",)", duration_ns(spans_[span]) / kNsPerSecond,
           duration_ns(spans_[span]) % kNsPerSecond,
           kClosed[static_cast<size_t>(spans_[span].closed)]);
    finish(span, spans_[span].end_thread);
  }

  void start(const char* kind, SessionNs time_ns) {
    line_.clear();
    append(R"({{"event":"{}","time":{}.{:09},)", kind, time_ns / kNsPerSecond,
           time_ns % kNsPerSecond);
  }

  void finish(uint32_t index, uint32_t thread) {
    const Span& span = spans_[index];
    append(R"("trace":"{:016x}",)", spans_[outermost(index)].id);
    if (span.parent_id == 0) {
      line_ += R"("parent":null,)";
    } else {
      append(R"("parent":"{:016x}",)", span.parent_id);
    }
    append(R"("id":"{:016x}","name":{},"text":{},{}}})", span.id, text(span.name), text(span.text),
           threads_[thread]);
    line_ += '\n';
    file_.write(line_);
  }

  uint32_t outermost(uint32_t span) const {
    while (parents_[span] != kNone) span = parents_[span];
    return span;
  }

  // As JSON; made once.
  const std::string& text(uint32_t handle) {
    if (texts_[handle].empty()) texts_[handle] = json_string(profile_.markers.texts[handle]);
    return texts_[handle];
  }

  template <typename... Values>
  void append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(line_), format, std::forward<Values>(values)...);
  }

  const profile::Profile& profile_;
  const std::vector<Span>& spans_;
  OutputFile& file_;
  const std::vector<uint32_t> begins_;
  const std::vector<uint32_t> parents_;
  std::vector<std::string> texts_;
  std::vector<std::string> threads_;
  std::string line_;
};

}  // namespace

Outcome write_spans(const profile::View& view, const std::string& path, uint64_t) {
  OutputFile file(path);
  SpanLines(view, file).write();
  file.commit();
  return {.notes = profile::marker_losses(*view.profile)};
}

}  // namespace sampan::exporters
