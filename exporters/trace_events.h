// The text of Chrome trace events. The text that all events of a function or a thread share is made
// once, on first use: a section has few of the functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/function_kinds.h"
#include "profile/view.h"

namespace sampan::exporters {

class TraceEvents {
 public:
  // Modules get colours as long as there are some, those with most time first.
  explicit TraceEvents(const profile::View& view);

  // For the slices that follow.
  void set_thread(const profile::Thread& thread);
  // A slice, without the separator after it. `function` may be kNone.
  void append_slice(uint32_t function, uint64_t begin_us, uint64_t end_us, std::string* out) const;
  // The bytes that append_slice() would append.
  uint64_t slice_size(uint32_t function, uint64_t begin_us, uint64_t end_us) const;

 private:
  const std::string& head(uint32_t function) const;

  const profile::Profile& profile_;
  const std::vector<int32_t> pids_;           // by process
  std::vector<profile::FunctionKind> kinds_;  // by function
  std::vector<std::string_view> colours_;     // by module
  mutable std::vector<std::string> heads_;  // by function; the last is for kNone. "": not made yet
  std::string tail_;
};

// By process: its pid, or a free one if the pid is also that of another recording of a merged one. Tracks are told apart by
// it; a program that another one replaced by exec keeps its own.
std::vector<int32_t> trace_pids(const profile::Profile& profile);

// {"name":KIND,"ph":"M","pid":...,"tid":...,"args":{KEY:VALUE}}
std::string metadata_event(std::string_view kind, int32_t pid, int64_t tid, std::string_view name);
std::string metadata_event(std::string_view kind, int32_t pid, int64_t tid, size_t sort_index);

// {"name":NAME,"ph":"C","pid":...,"ts":...,"args":{SERIES:VALUE}}: a track of the process.
std::string counter_event(std::string_view name, int32_t pid, uint64_t time_us,
                          std::string_view series, double value);

}  // namespace sampan::exporters
