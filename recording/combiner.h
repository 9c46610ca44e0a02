// Puts rows of several recordings into one, what they have in common once: modules, frames, stacks,
// waits, texts. Of processes and threads its users say which are the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/intern_table.h"
#include "recording/reader.h"
#include "recording/text_table.h"

namespace sampan::recording {

class Combiner {
 public:
  // Where rows of an input are among those that are combined; kNone: what is said of them is left
  // out.
  struct Places {
    std::vector<uint32_t> processes, threads;
  };

  uint32_t add(Process row);
  uint32_t add(Thread row);
  void add(const Losses& row) { combined_.losses.push_back(row); }
  // All other rows of `from` but its session, end, origins and losses. `later_ns`: what is added to
  // their times.
  void add_rows(const Recording& from, const Places& places, uint64_t later_ns);

  // To be completed by the user.
  Recording& combined() { return combined_; }

 private:
  struct PairHash {
    size_t operator()(const std::pair<uint64_t, uint64_t>& pair) const {
      return mix_bits(pair.first * 0x9e3779b97f4a7c15 + pair.second);
    }
  };
  using Integers = std::unordered_map<std::pair<uint64_t, uint64_t>, uint32_t, PairHash>;
  template <typename Second>
  using Texts = std::map<std::pair<std::string, Second>, uint32_t>;

  void add_lives(const Recording& from, const Places& places, uint64_t later_ns);
  void add_samples(const Recording& from, const Places& places, uint64_t later_ns);
  void add_jit_names(const Recording& from, const std::vector<uint32_t>& frames,
                     const Places& places, uint64_t later_ns);
  void add_names(const Recording& from, std::vector<uint32_t> frames,
                 const std::vector<uint32_t>& modules);
  void add_markers(const Markers& from, const Places& places, uint64_t later_ns);

  Recording combined_;
  TextTable texts_{&combined_.markers.texts};
  std::vector<bool> named_;  // by frame
  Texts<std::vector<uint8_t>> modules_;
  Integers frames_, stacks_;
  Texts<std::string> waits_;
};

// A row of markers whose name and text are those that `text` gives for their indexes.
template <typename Row, typename Text>
Row with_texts(Row row, const Text& text) {
  if constexpr (requires { row.name; }) row.name = text(row.name);
  if constexpr (requires { row.text; }) row.text = text(row.text);
  return row;
}

// `index`, as it is in another recording; kNone stays kNone.
inline uint32_t mapped(uint32_t index, const std::vector<uint32_t>& to) {
  return index == kNone ? kNone : to[index];
}

}  // namespace sampan::recording
