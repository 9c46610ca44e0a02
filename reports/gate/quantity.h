// A figure of one run that a budget limits, such as the CPU of a function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/view.h"

namespace sampan::reports {

enum class Subject { kProgram, kThread, kFunction, kSpan };

enum class Figure {
  kCpu,           // seconds; a function's with what it calls
  kSelf,          // seconds in the function itself
  kShare,         // of the program's sampled CPU, 0 to 1: a function with what it calls
  kWall,          // seconds from the session's start to its end
  kP50,           // seconds that half of the spans do not exceed
  kP99,           // the same for 99 %
  kAverage,       // of spans, seconds
  kInstructions,  // of the program, outside the kernel
};

struct Quantity {
  Subject subject = Subject::kProgram;
  Figure figure = Figure::kCpu;
  std::string name = {};  // of the threads, the functions or the spans; "" for the program

  friend bool operator==(const Quantity&, const Quantity&) = default;
  friend bool operator<(const Quantity& a, const Quantity& b) {
    return std::tie(a.subject, a.figure, a.name) < std::tie(b.subject, b.figure, b.name);
  }
};

// "program wall", "function cpu parse": in baselines and tables.
std::string key_of(const Quantity& quantity);
// Nothing: not such a key.
std::optional<Quantity> quantity_of(std::string_view key);

std::string_view word_of(Subject subject);  // "function"
std::string_view word_of(Figure figure);    // "cpu"
// Nothing: there is no such figure.
std::optional<Figure> figure_of(std::string_view word);
// Whether things of this kind have such a figure.
bool has_figure(Subject subject, Figure figure);
inline bool is_share(Figure figure) {
  return figure == Figure::kShare;
}
// Not how long something takes.
inline bool is_cpu(Figure figure) {
  return figure == Figure::kCpu || figure == Figure::kSelf || figure == Figure::kInstructions ||
         is_share(figure);
}

// "1.25 s", "12.3 %".
std::string value_text(Figure figure, double value);
// "1.25 ± 0.03 s": as many digits as the margin leaves.
std::string value_text(Figure figure, double value, double margin);

// The figures of one recording.
class RunFigures {
 public:
  // The view is symbolized, and has to outlive this.
  explicit RunFigures(const profile::View& view);

  // Functions are found by their whole name or by that without parameters and template arguments, threads and
  // spans by their name. Several of one name count together. Nothing: the run has none of the name.
  std::optional<double> value(const Quantity& quantity) const;

  // What one sample stands for, in the unit of the quantity; 0: its values do not come from samples.
  double resolution(const Quantity& quantity) const;

  // The program, its threads and spans, and the functions with the most time: what a baseline keeps.
  std::vector<Quantity> notable() const;

 private:
  struct FunctionTime {
    uint64_t self_ns = 0, total_ns = 0;
  };

  std::optional<double> program(Figure figure) const;
  std::optional<double> thread(const std::string& name) const;
  std::optional<double> function(Figure figure, const std::string& name) const;
  std::optional<double> span(Figure figure, const std::string& name) const;

  const profile::View& view_;
  uint64_t sampled_cpu_ns_ = 0, samples_ = 0;  // on CPU
  // By name, whole and without parameters: of all functions that have it.
  std::map<std::string, FunctionTime, std::less<>> functions_;
};

}  // namespace sampan::reports
