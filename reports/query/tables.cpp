#include "reports/query/tables.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "base/markers.h"
#include "base/safe_file_name.h"
#include "profile/frames.h"
#include "profile/function_kinds.h"
#include "profile/spans.h"
#include "profile/trace_ids.h"
#include "profile/unit.h"
#include "reports/query/vector_table.h"

namespace sampan::reports {
namespace {

using profile::kNone;
using profile::Profile;

// What the columns are made of. What takes long is found when it is first asked for.
struct Source {
  explicit Source(const Profile& of)
      : profile(of), sessions{of.session}, losses(profile::losses(of)) {}

  const Profile& profile;
  bool counts_time() const { return profile.session.unit.empty(); }

  const std::vector<profile::Session> sessions;  // one
  const std::vector<profile::Lost> losses;

  std::string_view marker_text(uint32_t text) const { return profile.markers.texts[text]; }
  uint32_t parent_of(const profile::Span& span) const {
    if (!span_parents_) span_parents_ = profile::span_parents(profile);
    return (*span_parents_)[static_cast<size_t>(&span - profile.markers.spans.data())];
  }
  profile::FunctionKind kind_of(const profile::Function& function) const {
    if (!function_kinds_) function_kinds_ = profile::function_kinds(profile);
    return (*function_kinds_)[static_cast<size_t>(&function - profile.functions.data())];
  }

 private:
  mutable std::optional<std::vector<uint32_t>> span_parents_;
  mutable std::optional<std::vector<profile::FunctionKind>> function_kinds_;
};

Value span_id_of(const profile::TraceContext& context) {
  std::string id = profile::span_text(context.span_id);
  return id.empty() ? Value() : Value(std::move(id));
}

std::string hexadecimal(const std::vector<uint8_t>& bytes) {
  std::string digits;
  for (const uint8_t byte : bytes) append_hex(&digits, byte, 2);
  return digits;
}

std::string_view state_of(const Profile& profile, const profile::Sample& sample) {
  if (sample.wait == kNone) return "cpu";
  return profile.is_runnable(sample.wait) ? "runnable" : "waiting";
}

std::string_view text_of(profile::Closed closed) {
  switch (closed) {
    case profile::Closed::kByProgram: return "program";
    case profile::Closed::kByThreadEnd: return "end of thread";
    case profile::Closed::kByProcessEnd: return "end of process";
    case profile::Closed::kBySegmentEnd: return "end of segment";
  }
  return "";
}

std::string_view text_of(profile::FunctionKind kind) {
  switch (kind) {
    case profile::FunctionKind::kPython: return "python";
    case profile::FunctionKind::kWait: return "wait";
    case profile::FunctionKind::kNative: break;
  }
  return "native";
}

std::string_view text_of(profile::StepKind kind) {
  switch (kind) {
    case profile::StepKind::kTask: return "task";
    case profile::StepKind::kCallback: return "callback";
    case profile::StepKind::kUnknown: break;
  }
  return "unknown";
}

// Columns of a table, in the words of a row.
template <typename Row>
using Fields = std::vector<Field<Source, Row>>;

class Tables {
 public:
  explicit Tables(const Profile& profile)
      : profile_(profile), source_(std::make_shared<Source>(profile)) {
    add_session();
    add_threads();
    add_samples();
    for (auto& table : watched_tables(profile)) tables_.push_back(std::move(table));
    add_code();
    add_markers();
    add_losses();
  }
  std::vector<std::unique_ptr<QueryTable>> take() { return std::move(tables_); }

 private:
  template <typename Row>
  void add(const char* name, const char* about, const std::vector<Row>& rows,
           Fields<std::type_identity_t<Row>> fields) {
    tables_.push_back(
        std::make_unique<VectorTable<Source, Row>>(name, about, source_, rows, std::move(fields)));
  }

  void add_session();
  void add_threads();
  void add_samples();
  void add_code();
  void add_markers();
  void add_losses();

  const Profile& profile_;
  std::shared_ptr<const Source> source_;
  std::vector<std::unique_ptr<QueryTable>> tables_;
};

void Tables::add_session() {
  add("session", "the recording: one row", source_->sessions,
      {
          {{"program", "TEXT", "its name"},
           [](auto&, auto& of) -> Value { return text(of.program); }},
          {{"host", "TEXT", "the machine's name"},
           [](auto&, auto& of) -> Value { return text(of.host); }},
          {{"start_unix_ns", "INTEGER", "when it began, since 1970; other times are since then"},
           [](auto&, auto& of) -> Value { return number(of.start_unix_ns); }},
          {{"duration_ns", "INTEGER", "how long it was"},
           [](auto& source, auto&) -> Value { return number(source.profile.duration_ns()); }},
          {{"clock", "TEXT", "cpu, or wall: also waiting threads were sampled"},
           [](auto&, auto& of) -> Value { return text(of.clock); }},
          {{"rate_hz", "INTEGER", "samples asked for, per second of a thread's CPU"},
           [](auto&, auto& of) -> Value { return number(of.rate_hz); }},
          {{"unit", "TEXT", "what an imported profile counts in place of time: cycles, bytes"},
           [](auto&, auto& of) -> Value { return text(of.unit); }},
      });
}

void Tables::add_threads() {
  add("processes", "the processes", profile_.processes,
      {
          {{"pid", "INTEGER", "as the kernel counts"},
           [](auto&, auto& of) -> Value { return int64_t{of.pid}; }},
          {{"parent_pid", "INTEGER", "of the process that started it"},
           [](auto&, auto& of) -> Value { return int64_t{of.parent_pid}; }},
          {{"name", "TEXT", "the executable's, with the label of a merged recording"},
           [](auto&, auto& of) -> Value { return text(of.name); }},
          {{"path", "TEXT", "of the executable"},
           [](auto&, auto& of) -> Value { return text(of.path); }},
          {{"start_ns", "INTEGER", "when it began"},
           [](auto&, auto& of) -> Value { return number(of.start_ns); }},
          {{"end_ns", "INTEGER", "when it ended"},
           [](auto&, auto& of) -> Value { return if_known(of.end_ns); }},
          {{"cpu_ns", "INTEGER", "the CPU that it used, as the kernel counts"},
           [](auto&, auto& of) -> Value { return if_known(of.cpu_ns); }},
          {{"exit_status", "INTEGER", "if it exited"},
           [](auto&, auto& of) -> Value { return if_known(of.exit_status); }},
          {{"exit_signal", "INTEGER", "if a signal killed it"},
           [](auto&, auto& of) -> Value { return if_known(of.exit_signal); }},
      });
  add("threads", "the threads", profile_.threads,
      {
          {{"process", "INTEGER", "row of processes"},
           [](auto&, auto& of) -> Value { return row(of.process); }},
          {{"tid", "INTEGER", "as the kernel counts"},
           [](auto&, auto& of) -> Value { return int64_t{of.tid}; }},
          {{"name", "TEXT", "the last one that it had"},
           [](auto&, auto& of) -> Value { return text(of.name); }},
          {{"is_main", "INTEGER", "1: the first thread of its process"},
           [](auto&, auto& of) -> Value { return int64_t{of.is_main}; }},
          {{"start_ns", "INTEGER", "when it began"},
           [](auto&, auto& of) -> Value { return number(of.start_ns); }},
          {{"end_ns", "INTEGER", "when it ended"},
           [](auto&, auto& of) -> Value { return if_known(of.end_ns); }},
          {{"cpu_ns", "INTEGER", "the CPU that it used, as the kernel counts"},
           [](auto&, auto& of) -> Value { return if_known(of.cpu_ns); }},
          {{"sampled_cpu_ns", "INTEGER", "the CPU that its samples stand for"},
           [](auto&, auto& of) -> Value { return number(of.sampled_cpu_ns); }},
          {{"waiting_ns", "INTEGER", "the time that it waited, by its samples"},
           [](auto&, auto& of) -> Value { return number(of.waiting_ns); }},
          {{"runnable_ns", "INTEGER", "the time that it waited for a CPU, by its samples"},
           [](auto&, auto& of) -> Value { return number(of.runnable_ns); }},
      });
}

void Tables::add_samples() {
  add("samples", "the samples, by time", profile_.samples,
      {
          {{"time_ns", "INTEGER", "when it was taken"},
           [](auto&, auto& of) -> Value { return number(of.time_ns); }},
          {{"weight_ns", "INTEGER", "the CPU that it stands for; the time, if the thread waited"},
           [](auto& source, auto& of) -> Value {
             return source.counts_time() ? number(of.weight_ns) : Value();
           }},
          {{"weight", "INTEGER", "what it stands for, in the unit of the session, if it has one"},
           [](auto& source, auto& of) -> Value {
             return source.counts_time()
                        ? Value()
                        : number(profile::whole_units(source.profile.session, of.weight_ns));
           }},
          {{"thread", "INTEGER", "row of threads"},
           [](auto&, auto& of) -> Value { return row(of.thread); }},
          {{"state", "TEXT", "cpu, waiting, or runnable: the thread waited for a CPU"},
           [](auto& source, auto& of) -> Value { return state_of(source.profile, of); }},
          {{"function", "INTEGER", "row of functions: of the innermost frame"},
           [](auto& source, auto& of) -> Value {
             return row(leaf_function(source.profile, of.stack));
           }},
          {{"stack", "INTEGER", "its rows in frames"},
           [](auto&, auto& of) -> Value { return row(of.stack); }},
          {{"wait", "INTEGER", "row of waits"},
           [](auto&, auto& of) -> Value { return row(of.wait); }},
          {{"trace_id", "TEXT", "of the request across services that the thread worked for"},
           [](auto& source, auto& of) -> Value {
             return of.context == kNone
                        ? Value()
                        : Value(profile::trace_text(source.profile.contexts[of.context]));
           }},
          {{"span_id", "TEXT", "the same"},
           [](auto& source, auto& of) -> Value {
             return of.context == kNone ? Value() : span_id_of(source.profile.contexts[of.context]);
           }},
          {{"is_complete", "INTEGER", "1: the stack reaches the thread's first function"},
           [](auto&, auto& of) -> Value { return int64_t{of.complete}; }},
      });
  tables_.push_back(frames_table(profile_));
  add("waits", "what threads waited for", profile_.waits,
      {
          {{"call", "TEXT", "the system call; GIL, runnable"},
           [](auto&, auto& of) -> Value { return text(of.call); }},
          {{"object", "TEXT", "what it was called for: pipe:[7], tcp 10.0.0.1:443"},
           [](auto&, auto& of) -> Value { return text(of.object); }},
          {{"held_in", "TEXT", "of the GIL: the function in which its holder was"},
           [](auto&, auto& of) -> Value { return text(of.held_in); }},
      });
}

void Tables::add_code() {
  add("functions", "the functions, and the frames that stand for waits", profile_.functions,
      {
          {{"name", "TEXT", "its whole name"},
           [](auto& source, auto& of) -> Value { return text(source.profile.strings[of.name]); }},
          {{"file", "TEXT", "that it is defined in"},
           [](auto& source, auto& of) -> Value { return text(source.profile.strings[of.file]); }},
          {{"line", "INTEGER", "that it is defined in"},
           [](auto&, auto& of) -> Value { return of.line == 0 ? Value() : number(of.line); }},
          {{"module", "INTEGER", "row of modules"},
           [](auto&, auto& of) -> Value { return row(of.module); }},
          {{"kind", "TEXT", "native, python, or wait"},
           [](auto& source, auto& of) -> Value { return text_of(source.kind_of(of)); }},
      });
  add("modules", "the files with the code", profile_.modules,
      {
          {{"path", "TEXT", "of the file"}, [](auto&, auto& of) -> Value { return text(of.path); }},
          {{"build_id", "TEXT", "in hexadecimal"},
           [](auto&, auto& of) -> Value { return hexadecimal(of.build_id); }},
      });
}

void Tables::add_markers() {
  const profile::Markers& markers = profile_.markers;
  add("spans", "what the program marked as spans", markers.spans,
      {
          {{"begin_ns", "INTEGER", "when it began"},
           [](auto&, auto& of) -> Value { return number(of.begin_ns); }},
          {{"end_ns", "INTEGER", "when it ended"},
           [](auto&, auto& of) -> Value { return number(of.end_ns); }},
          {{"name", "TEXT", "its name"},
           [](auto& source, auto& of) -> Value { return text(source.marker_text(of.name)); }},
          {{"text", "TEXT", "the value that it was given"},
           [](auto& source, auto& of) -> Value { return text(source.marker_text(of.text)); }},
          {{"thread", "INTEGER", "row of threads: that began it"},
           [](auto&, auto& of) -> Value { return row(of.thread); }},
          {{"end_thread", "INTEGER", "row of threads: that ended it"},
           [](auto&, auto& of) -> Value { return row(of.end_thread); }},
          {{"parent", "INTEGER", "row of spans: the one that it is in"},
           [](auto& source, auto& of) -> Value { return row(source.parent_of(of)); }},
          {{"ended_by", "TEXT", "program, or what ended while it was open"},
           [](auto&, auto& of) -> Value { return text_of(of.closed); }},
      });
  add("events", "what the program marked as events", markers.events,
      {
          {{"time_ns", "INTEGER", "when it was"},
           [](auto&, auto& of) -> Value { return number(of.time_ns); }},
          {{"name", "TEXT", "its name"},
           [](auto& source, auto& of) -> Value { return text(source.marker_text(of.name)); }},
          {{"text", "TEXT", "the value that it was given"},
           [](auto& source, auto& of) -> Value { return text(source.marker_text(of.text)); }},
          {{"thread", "INTEGER", "row of threads"},
           [](auto&, auto& of) -> Value { return row(of.thread); }},
      });
  add("counters", "the values of the program's counters", markers.counters,
      {
          {{"time_ns", "INTEGER", "when it changed"},
           [](auto&, auto& of) -> Value { return number(of.time_ns); }},
          {{"name", "TEXT", "its name"},
           [](auto& source, auto& of) -> Value { return text(source.marker_text(of.name)); }},
          {{"value", "REAL", "from then on"}, [](auto&, auto& of) -> Value { return of.value; }},
          {{"thread", "INTEGER", "row of threads: that changed it"},
           [](auto&, auto& of) -> Value { return row(of.thread); }},
      });
  add("steps", "what event loops ran, by samples", markers.steps,
      {
          {{"begin_ns", "INTEGER", "its first sample"},
           [](auto&, auto& of) -> Value { return number(of.begin_ns); }},
          {{"end_ns", "INTEGER", "its last sample"},
           [](auto&, auto& of) -> Value { return number(of.end_ns); }},
          {{"thread", "INTEGER", "row of threads"},
           [](auto&, auto& of) -> Value { return row(of.thread); }},
          {{"kind", "TEXT", "task, callback, or unknown"},
           [](auto&, auto& of) -> Value { return text_of(of.kind); }},
          {{"task", "TEXT", "the task's name"},
           [](auto& source, auto& of) -> Value { return text(source.marker_text(of.name)); }},
          {{"coroutine", "TEXT", "the task's"},
           [](auto& source, auto& of) -> Value { return text(source.marker_text(of.text)); }},
      });
}

void Tables::add_losses() {
  add("losses", "what the recording lacks", source_->losses,
      {
          {{"reason", "TEXT", "a word for it"},
           [](auto&, auto& of) -> Value { return text(of.key); }},
          {{"about", "TEXT", "a sentence for it"},
           [](auto&, auto& of) -> Value { return text(of.text); }},
          {{"count", "INTEGER", "how often"},
           [](auto&, auto& of) -> Value { return number(of.count); }},
      });
}

}  // namespace

std::vector<std::unique_ptr<QueryTable>> query_tables(const Profile& profile) {
  return Tables(profile).take();
}

std::string query_schema() {
  const Profile none;
  std::string schema;
  for (const auto& table : query_tables(none)) {
    schema += fmt::format("{} ({})\n", table->name(), table->about());
    for (const QueryColumn& column : table->columns()) {
      schema += fmt::format("  {:<16}  {:<7}  {}\n", column.name, column.type, column.about);
    }
  }
  return schema;
}

}  // namespace sampan::reports
