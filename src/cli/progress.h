// One line on stderr that says what takes so long, when something takes longer than a second. Only
// on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sampan::cli {

class Progress {
 public:
  Progress();
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "Symbolizing: 1200 of 5000". Shown at most ten times a second.
  void show(const std::string& what, size_t done, size_t all);
  // "Writing the trace": for a step that cannot say how far it is.
  void show(const std::string& what);

 private:
  bool is_due();
  void print(const std::string& line);

  bool terminal_;
  bool shown_ = false;
  uint64_t next_ns_;
};

}  // namespace sampan::cli
