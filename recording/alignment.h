// One time line for recordings that began at different times, on hosts with clocks of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recording/reader.h"

namespace sampan::recording {

enum class Align {
  kStart,  // all begin at time 0
  kClock,  // by the hosts' clocks
  kMarks,  // by moments that all have in common, such as the end of a barrier
};

// The n-th time that a recording reached a moment with this text.
struct Mark {
  std::string text;
  uint32_t number = 0;
  UnixNs time_ns = 0;  // by the clock of its host
};

// The ends of the spans with this name, and the events; by text, then by time.
std::vector<Mark> marks_of(const Recording& recording, const std::string& name);

// The facts about an input that aligning needs.
struct Timing {
  std::string host;
  UnixNs start_ns = 0, end_ns = 0;              // by its clock
  std::optional<uint64_t> clock_error_ns = {};  // Session::clock_error_ns
  std::vector<Mark> marks = {};
};

struct Alignment {
  Align how = Align::kStart;
  UnixNs start_ns = 0;             // of the time line
  std::vector<uint64_t> later_ns;  // by input: how much later it begins

  // How well it is known.
  size_t hosts = 1;
  std::optional<uint64_t> clock_error_ns =
      {};                    // kClock: of any two hosts to each other, at most; none: not known
  uint64_t marks = 0;        // kMarks: those that two inputs have in common
  uint64_t apart_ns = 0;     // kMarks: the largest distance of two common marks, once aligned
  size_t without_marks = 0;  // kMarks: inputs that are aligned by their clocks instead
};

// Without `how`: by the clocks if there was a moment at which all of them ran, else by their starts. At least one input.
// With kMarks, the clock of an input is off by the median distance of its marks from those of the first input that has
// any. Throws Error if no two inputs have a mark in common.
Alignment align(std::span<const Timing> inputs, std::optional<Align> how);

// "by the clocks of 2 hosts, which were right to 0.8 ms"
std::string words(const Alignment& alignment);

}  // namespace sampan::recording
