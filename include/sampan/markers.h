// Markers: a program says what it is doing, and sampan shows that beside the samples that say where
// its time goes. Header only, for C11 and C++17 or later; no library to link. See docs/markers.md.
//
//   sampan_span_begin("parse");                       C: what this thread does until the end
//   sampan_span_end();
//   sampan::Span span{"parse", file_name};            C++: until the scope is left
//   sampan::AsyncSpan span{"request", path};          C++: of a coroutine, on whatever threads it runs
//   sampan_event("cache full");                       one moment
//   sampan_counter_set("queue length", 12);           a number that goes up and down
//   sampan_section_start("request_17");               an interval with a profile of its own
//   sampan_section_stop("request_17");
//   sampan_context(trace_id, span_id);                the request of a distributed trace
//
// Without sampan, a call is a load and a predicted branch. All functions may be called by any thread
// and in signal handlers: no lock, no allocation, no errno. Names and texts are UTF-8 and copied; what
// is longer than 512 bytes is cut. Times are CLOCK_MONOTONIC nanoseconds. Ids are valid in one process
// and never 0; without sampan every id is 0.
//
// How the shim finds the calls: each module (program or library) has one pointer, which is null, and
// an ELF note with the pointer's place. The shim reads the notes of the loaded modules and stores the
// address of its function table in the pointers.
//
// SAMPAN_NO_MARKERS, defined before this header is included, turns all calls into nothing.
#ifndef SAMPAN_MARKERS_H
#define SAMPAN_MARKERS_H

#include <stdint.h>

#ifdef __cplusplus
#include <string_view>
#include <utility>

extern "C" {
#endif

// The shim's functions. New functions are appended and make a new version. A program works with the
// shims of its own version and later ones. For languages without this header, the shim exports
//   const struct sampan_marker_functions* sampan_find_markers(uint32_t version)
// which is null when markers are off or the shim is older.
struct sampan_marker_functions {
  void (*span_begin)(const char* name, uint64_t parent_id);  // 0: the innermost open span
  void (*span_end)(void);
  void (*span_text)(const char* text);
  uint64_t (*span_current)(void);
  uint64_t (*span_start)(const char* name, uint64_t parent_id);
  void (*span_stop)(uint64_t id);
  void (*event)(const char* name, const char* text, uint64_t time_ns);  // 0: now
  void (*counter_add)(const char* name, double value);
  void (*counter_set)(const char* name, double value);
  void (*section_start)(const char* name, int calling_thread_only);
  void (*section_stop)(const char* name, int calling_thread_only);
  void (*pause)(void);
  void (*resume)(void);
  void (*thread_label)(const char* text);
  void (*thread_order)(int order);
  void (*process_label)(const char* text);
  void (*process_order)(int order);
  int (*profiled)(void);
  void (*span_text_of)(uint64_t id, const char* text);  // since version 2
  // Since version 3.
  void (*trace_context)(const uint8_t* trace_id, const uint8_t* span_id, const uint8_t* parent_id);
  int (*trace_section_start)(const char* name, const char* traceparent, const char* tracestate);
};

#ifdef __cplusplus
#define SAMPAN_MARKERS_NULL nullptr
#else
#define SAMPAN_MARKERS_NULL 0
#endif

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(__ILP32__) && \
    defined(__GNUC__) && !defined(SAMPAN_NO_MARKERS)

// The pointer and the note, once in each module, in the way of SystemTap's probes: a group of which
// the linker keeps one, and only where a call refers to it. The note's type is the version.
__asm__(
    ".ifndef sampan_markers_3\n"
    ".pushsection .bss.sampan_markers_3,\"awG\",@nobits,sampan_markers_3,comdat\n"
    ".balign 8\n"
    ".weak sampan_markers_3\n"
    ".hidden sampan_markers_3\n"
    ".type sampan_markers_3,@object\n"
    ".size sampan_markers_3,8\n"
    "sampan_markers_3:\n"
    ".skip 8\n"
    ".popsection\n"
    ".pushsection .note.sampan,\"aG\",@note,sampan_markers_3,comdat\n"
    ".balign 4\n"
    ".long 7, 8, 3\n"
    ".asciz \"sampan\"\n"
    ".balign 4\n"
    ".quad sampan_markers_3 - .\n"
    ".popsection\n"
    ".endif\n");
extern __attribute__((visibility("hidden"))) const struct sampan_marker_functions* sampan_markers_3;

#define SAMPAN_MARKERS_FOUND __atomic_load_n(&sampan_markers_3, __ATOMIC_RELAXED)
#define SAMPAN_MARKERS_RARELY(condition) __builtin_expect(!!(condition), 0)
#else
static const struct sampan_marker_functions* const sampan_markers_3 = SAMPAN_MARKERS_NULL;
#define SAMPAN_MARKERS_FOUND sampan_markers_3
#define SAMPAN_MARKERS_RARELY(condition) (condition)
#endif

#define SAMPAN_MARKERS_CALL(...)                                              \
  const struct sampan_marker_functions* const markers = SAMPAN_MARKERS_FOUND; \
  if (SAMPAN_MARKERS_RARELY(markers)) __VA_ARGS__

// ---- Spans of one thread, nested ----

// Begins a span of the calling thread, inside the span that it has open.
static inline void sampan_span_begin(const char* name) {
  SAMPAN_MARKERS_CALL(markers->span_begin(name, 0));
}

// The same with a value, such as the request's number.
static inline void sampan_span_begin_text(const char* name, const char* text) {
  SAMPAN_MARKERS_CALL(markers->span_begin(name, 0), markers->span_text(text));
}

// The same as a child of another thread's span, or of one of sampan_span_start.
static inline void sampan_span_begin_child(const char* name, uint64_t parent_id) {
  SAMPAN_MARKERS_CALL(markers->span_begin(name, parent_id));
}

// Ends the calling thread's innermost open span. Spans that are open when their thread or the
// process ends, end with it.
static inline void sampan_span_end(void) {
  SAMPAN_MARKERS_CALL(markers->span_end());
}

// Gives the calling thread's innermost open span a value, in place of an earlier one.
static inline void sampan_span_text(const char* text) {
  SAMPAN_MARKERS_CALL(markers->span_text(text));
}

// The id of the calling thread's innermost open span; 0: none.
static inline uint64_t sampan_span_current(void) {
  SAMPAN_MARKERS_CALL(return markers->span_current());
  return 0;
}

// ---- Spans across threads ----

// Begins a span that any thread may end by its id. Its parent is the calling thread's innermost open
// span.
static inline uint64_t sampan_span_start(const char* name) {
  SAMPAN_MARKERS_CALL(return markers->span_start(name, 0));
  return 0;
}

static inline uint64_t sampan_span_start_child(const char* name, uint64_t parent_id) {
  SAMPAN_MARKERS_CALL(return markers->span_start(name, parent_id));
  return 0;
}

// Gives such a span a value, before its end.
static inline void sampan_span_text_of(uint64_t id, const char* text) {
  SAMPAN_MARKERS_CALL(markers->span_text_of(id, text));
}

// Ends such a span. To be called once for each start; 0 is ignored.
static inline void sampan_span_stop(uint64_t id) {
  SAMPAN_MARKERS_CALL(markers->span_stop(id));
}

// ---- Events and counters ----

static inline void sampan_event(const char* name) {
  SAMPAN_MARKERS_CALL(markers->event(name, "", 0));
}

static inline void sampan_event_text(const char* name, const char* text) {
  SAMPAN_MARKERS_CALL(markers->event(name, text, 0));
}

// At a time that the program has read itself, in CLOCK_MONOTONIC nanoseconds.
static inline void sampan_event_at(const char* name, uint64_t time_ns) {
  SAMPAN_MARKERS_CALL(markers->event(name, "", time_ns));
}

// Counters belong to the process and begin at 0.
static inline void sampan_counter_add(const char* name, double value) {
  SAMPAN_MARKERS_CALL(markers->counter_add(name, value));
}

static inline void sampan_counter_set(const char* name, double value) {
  SAMPAN_MARKERS_CALL(markers->counter_set(name, value));
}

// ---- Sections: intervals with profiles of their own ----

// A section of all threads of the process. Any thread may stop it. Sections may overlap.
static inline void sampan_section_start(const char* name) {
  SAMPAN_MARKERS_CALL(markers->section_start(name, 0));
}

static inline void sampan_section_stop(const char* name) {
  SAMPAN_MARKERS_CALL(markers->section_stop(name, 0));
}

// A section of the calling thread alone, which must also stop it.
static inline void sampan_thread_section_start(const char* name) {
  SAMPAN_MARKERS_CALL(markers->section_start(name, 1));
}

static inline void sampan_thread_section_stop(const char* name) {
  SAMPAN_MARKERS_CALL(markers->section_stop(name, 1));
}

// ---- Requests across services ----

// For which request the calling thread works from now on: the ids of W3C Trace Context, 16 and 8 bytes,
// copied. A null trace_id or one of zeros: for none. Where an OpenTelemetry library publishes the
// thread's context (OTEP 4947), that counts.
static inline void sampan_context(const uint8_t* trace_id, const uint8_t* span_id) {
  SAMPAN_MARKERS_CALL(markers->trace_context(trace_id, span_id, SAMPAN_MARKERS_NULL));
}

// The same, and `parent_id` is the span of the service that sent the request, 8 bytes.
static inline void sampan_context_child(const uint8_t* trace_id, const uint8_t* span_id,
                                        const uint8_t* parent_id) {
  SAMPAN_MARKERS_CALL(markers->trace_context(trace_id, span_id, parent_id));
}

static inline void sampan_context_clear(void) {
  SAMPAN_MARKERS_CALL(
      markers->trace_context(SAMPAN_MARKERS_NULL, SAMPAN_MARKERS_NULL, SAMPAN_MARKERS_NULL));
}

// Starts a section of the calling thread if the request asks for it and may: if the HTTP headers
// `traceparent` and `tracestate` make sense, and tracestate proves that its sender has the key
// (docs/markers.md). Returns 1 if the section was started: the thread must stop it with
// sampan_thread_section_stop(name). Until then it works for the request. Returns 0 if not.
static inline int sampan_trace_section_start(const char* name, const char* traceparent,
                                             const char* tracestate) {
  SAMPAN_MARKERS_CALL(return markers->trace_section_start(name, traceparent, tracestate));
  return 0;
}

// ---- Sampling ----

// Takes no samples of the process until the next resume. Markers are still recorded.
static inline void sampan_pause(void) {
  SAMPAN_MARKERS_CALL(markers->pause());
}

// Takes samples again.
static inline void sampan_resume(void) {
  SAMPAN_MARKERS_CALL(markers->resume());
}

// Whether the process is profiled: for markers that are costly to prepare.
static inline int sampan_profiled(void) {
  SAMPAN_MARKERS_CALL(return markers->profiled());
  return 0;
}

// ---- Names and order of threads and processes in the outputs ----

static inline void sampan_thread_label(const char* text) {
  SAMPAN_MARKERS_CALL(markers->thread_label(text));
}

// Lower numbers come first; threads without an order come last.
static inline void sampan_thread_order(int order) {
  SAMPAN_MARKERS_CALL(markers->thread_order(order));
}

static inline void sampan_process_label(const char* text) {
  SAMPAN_MARKERS_CALL(markers->process_label(text));
}

static inline void sampan_process_order(int order) {
  SAMPAN_MARKERS_CALL(markers->process_order(order));
}

#ifdef __cplusplus
}  // extern "C"

namespace sampan {

// A copy of a text that ends with a zero, as the functions above need it; empty without sampan.
class MarkerText {
 public:
  explicit MarkerText(std::string_view text) {
    bytes_[0] = 0;  // not all of them: without sampan a marker costs next to nothing
    if (!SAMPAN_MARKERS_RARELY(SAMPAN_MARKERS_FOUND)) return;
    char* end = bytes_ + text.copy(bytes_, kKept);
    if (text.size() > kKept) {
      // It is cut to 512 bytes, and gets a hash of what follows. So the rest becomes a hash here.
      uint64_t hash = 14695981039346656037u;  // FNV-1a
      for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
      for (int i = 0; i < kHash; ++i, hash /= 26) *end++ = "abcdefghijklmnopqrstuvwxyz"[hash % 26];
    }
    *end = 0;
  }
  operator const char*() const { return bytes_; }

 private:
  static constexpr int kKept = 512, kHash = 13;
  char bytes_[kKept + kHash + 1];
};

// A span of this thread from here to the end of the scope.
class Span {
 public:
  explicit Span(const char* name) { sampan_span_begin(name); }
  Span(const char* name, const char* text) { sampan_span_begin_text(name, text); }
  explicit Span(std::string_view name) : Span(MarkerText(name)) {}
  Span(std::string_view name, std::string_view text) : Span(MarkerText(name), MarkerText(text)) {}
  ~Span() { sampan_span_end(); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
};

// A span that may end on another thread: that of a coroutine, or of work that is handed on with it.
// Its parent is the span with the id, else the calling thread's innermost open span.
class AsyncSpan {
 public:
  explicit AsyncSpan(std::string_view name, std::string_view text = {}, uint64_t parent_id = 0)
      : id_(sampan_span_start_child(MarkerText(name), parent_id)) {
    if (!text.empty()) sampan_span_text_of(id_, MarkerText(text));
  }
  AsyncSpan(AsyncSpan&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  AsyncSpan& operator=(AsyncSpan&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~AsyncSpan() { sampan_span_stop(id_); }

  uint64_t id() const { return id_; }  // 0 without sampan

 private:
  uint64_t id_;
};

// A section of all threads from here to the end of the scope.
class Section {
 public:
  explicit Section(std::string_view name) : name_(name) { sampan_section_start(name_); }
  ~Section() { sampan_section_stop(name_); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  MarkerText name_;
};

// The same for the calling thread alone.
class ThreadSection {
 public:
  explicit ThreadSection(std::string_view name) : name_(name) {
    sampan_thread_section_start(name_);
  }
  ~ThreadSection() { sampan_thread_section_stop(name_); }
  ThreadSection(const ThreadSection&) = delete;
  ThreadSection& operator=(const ThreadSection&) = delete;

 private:
  MarkerText name_;
};

}  // namespace sampan
#endif

#undef SAMPAN_MARKERS_CALL
#undef SAMPAN_MARKERS_FOUND
#undef SAMPAN_MARKERS_RARELY
#endif  // SAMPAN_MARKERS_H
