// Which of an interpreter's thread states is that of a thread of the kernel. The list of states is
// read from the process while other threads may change it, so what was found before is checked each
// time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "sampler/process/python_interpreter.h"

namespace sampan::sampler {

// A PyThreadState.
struct PythonThreadState {
  pid_t tid;
  Avma state;
  Avma interpreter;

  friend bool operator==(const PythonThreadState&, const PythonThreadState&) = default;
};

class PythonThreads {
 public:
  PythonThreads(pid_t pid, const PythonInterpreter& interpreter)
      : pid_(pid), interpreter_(interpreter) {}

  // The thread's PyThreadStates; nothing: it has none. A thread that stands in several interpreters has
  // several: those that have frames, in no order. If none has, one of them.
  void find(pid_t tid, std::vector<uint64_t>& states);
  // Whether the process had more than one interpreter at the last find().
  bool has_subinterpreters() const { return interpreters_ > 1; }

  // Those of all threads of the process, of all interpreters; by tid.
  std::vector<PythonThreadState> all();

 private:
  struct State {
    Avma avma;
    Avma interpreter;
    Avma id_place;  // of the word that names the thread
    uint64_t id;
  };
  struct Word {
    Avma place;
    uint64_t value;
  };

  bool choose(pid_t tid, std::vector<uint64_t>& chosen) const;
  bool is_listed(const State& state) const;
  bool has_frames(Avma state) const;
  bool is_current(bool is_known) const;
  void read_states();
  void read_states_of(Avma interpreter, const std::vector<pid_t>& tids, size_t& room);
  uint64_t watched(Avma place);
  uint64_t word(Avma avma) const;

  pid_t pid_;
  const PythonInterpreter& interpreter_;
  std::unordered_multimap<pid_t, State> states_;
  // A new state changes one of these words, because the lists grow at their beginnings. The list of interpreters is the
  // first.
  std::vector<Word> watched_;
  size_t interpreters_ = 0;
};

}  // namespace sampan::sampler
