// Names of frames, kept from one request to the next: an answer looks up only frames that were not
// seen before. Frames are identified by module and address, so recordings may come in any order and
// number their frames differently. All members may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/reader.h"
#include "symbolizer/symbolizer.h"

namespace sampan::serve {

// A module in the single address space of symbol requests.
struct NamedModule {
  std::string path;
  uint64_t svma_begin = 0;
  uint64_t begin = 0, end = 0;  // its address range
};

class KnownNames {
 public:
  explicit KnownNames(symbolizer::Options options) : options_(std::move(options)) {}

  // Looks up the names of frames that are not known yet. Takes long if there is much debug
  // information.
  void learn(const recording::Recording& recording);
  // Adds the known names to the recording, which keeps the names it has of other frames.
  void enter(recording::Recording* recording) const;

  // The address of a frame, constant during the lifetime of this object. A frame without a module
  // keeps its AVMA, or the number that stands for a function of an interpreter and its line.
  uint64_t address_of(const recording::Recording& recording, uint32_t frame);
  // The functions at an address from address_of(), innermost first; empty if unknown.
  std::vector<std::string> functions_at(uint64_t address) const;
  std::vector<NamedModule> modules() const;
  size_t size() const;  // number of frames with names

 private:
  // A module's place, and the rows of its frames with names, by address.
  struct Module {
    NamedModule place;
    std::unordered_map<uint64_t, uint32_t> frames;
  };
  using Key = std::pair<std::string, std::vector<uint8_t>>;  // path and build-id

  uint32_t module_row(const recording::Module& module);
  std::optional<uint32_t> find_module(const recording::Module& module) const;
  // `modules`: for each module row of `names`, the row here.
  void learn_python(const recording::Recording& recording);
  void add(const recording::Names& names, const std::vector<recording::Frame>& frames,
           const std::vector<uint32_t>& modules);
  uint32_t text(const std::string& text);

  const symbolizer::Options options_;
  mutable std::mutex mutex_;
  std::mutex learning_;  // one at a time; meanwhile known names are available
  std::map<Key, uint32_t> rows_;
  std::vector<Module> modules_;
  recording::Names names_;                            // `frame` is a row of this object
  std::vector<size_t> first_line_;                    // by that row
  std::unordered_map<uint64_t, std::string> python_;  // functions of interpreters, by address
  std::unordered_map<std::string, uint32_t> texts_;
  std::map<std::vector<uint32_t>, uint32_t> functions_;  // name, file, line, module
};

}  // namespace sampan::serve
