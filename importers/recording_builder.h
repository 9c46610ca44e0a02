// Makes a recording in memory of what an importer reads. Equal rows become one.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/interner.h"
#include "recording/reader.h"

namespace sampan::importers {

using recording::kNone;

// One function of a place in code, with what is known of it: empty and 0 are unknown.
struct NamedPlace {
  std::string function;
  std::string file = {};
  uint32_t first_line = 0;  // of the function
  uint32_t line = 0;
  uint32_t column = 0;
};

class RecordingBuilder {
 public:
  recording::Session& session() { return recording_.session; }

  uint32_t process(int32_t pid, const std::string& name, int32_t parent_pid = 0);
  // Threads are told apart by their tids, which have the latest name; those without one by their names.
  uint32_t thread(uint32_t process, int32_t tid, const std::string& name);
  uint32_t module(const std::string& path, const std::vector<uint8_t>& build_id = {});

  // An address that the symbolizer looks up: of a call, inside it. SVMA in the module; AVMA without one.
  uint32_t frame(uint32_t module, uint64_t address);
  // A place whose name is known; several where functions were inlined, innermost first. At least one. Without an
  // address it gets one of its own.
  uint32_t frame(uint32_t module, uint64_t address, std::span<const NamedPlace> places);
  uint32_t frame(uint32_t module, const NamedPlace& place) { return frame(module, 0, {&place, 1}); }
  // Leaf first. kNone for none.
  uint32_t stack(std::span<const uint32_t> frames);
  uint32_t wait(const std::string& call);

  void sample(const recording::Sample& row) { recording_.samples.push_back(row); }
  // The same; without a stack it is incomplete.
  void sample(uint32_t thread, uint32_t stack, SessionNs time_ns, uint64_t weight,
              uint32_t wait = kNone);
  // As many samples as `count` says, at most so many that all of a file are kMostSamples: they share the weight.
  void samples(uint32_t thread, uint32_t stack, uint64_t count, uint64_t weight);

  void lost(wire::Loss loss, uint64_t count);
  // What a person must know, in a sentence.
  void note(const std::string& text);
  // Notes how many samples there are of other events, by name.
  void note_left_out(const std::map<std::string, uint64_t>& samples, const std::string& event);

  // Sorted by time; `duration_ns` is at least the time of the last sample.
  recording::Recording take(uint64_t duration_ns);

 private:
  uint32_t text(std::string_view text) { return texts_.handle(text); }

  recording::Recording recording_;
  std::map<std::pair<int32_t, std::string>, uint32_t> processes_;
  std::map<std::tuple<uint32_t, int32_t, std::string>, uint32_t> threads_;
  Interner<recording::Module> modules_;
  Interner<recording::Frame> frames_;
  Interner<recording::Stack> stacks_;
  LastSequence<uint32_t> last_stack_;  // its frames, root first
  Interner<recording::Wait> waits_;
  TextTable<> texts_;
  Interner<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>>
      functions_;                                           // name, file, line, module
  std::map<std::vector<uint64_t>, uint32_t> named_frames_;  // by module, address, lines
  std::string note_;
  uint64_t own_address_ = 0;
  uint64_t all_samples_ = 0;
};

// The weight of so many events or bytes, of which the recording keeps thousandths. Throws Error if it is too large.
uint64_t weight_of(uint64_t count);

}  // namespace sampan::importers
