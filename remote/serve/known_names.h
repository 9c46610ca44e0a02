// What frames are called, remembered from one request to the next: an answer looks up only what has
// not been seen before. Frames are known by module and address, so recordings may come in any order
// and number their frames as they like. All members may be called from any thread.
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

// A module in the one address space that symbols are asked for in.
struct NamedModule {
  std::string path;
  uint64_t svma_begin = 0;
  uint64_t begin = 0, end = 0;  // where it lies
};

class KnownNames {
 public:
  explicit KnownNames(symbolizer::Options options) : options_(std::move(options)) {}

  // Finds out what frames of the recording are called that are not known yet. Takes long where
  // debug information is large.
  void learn(const recording::Recording& recording);
  // Gives the recording the names that are known of its frames; it keeps what it has of others.
  void enter(recording::Recording* recording) const;

  // Where a frame lies: the same as long as this object lives. A frame without a module lies at its
  // AVMA.
  uint64_t address_of(const recording::Recording& recording, uint32_t frame);
  // The functions at an address that address_of() has given, innermost first; none: not known.
  std::vector<std::string> functions_at(uint64_t address) const;
  std::vector<NamedModule> modules() const;
  size_t size() const;  // frames with names

 private:
  // A module's row here, and by address the row of a frame with names.
  struct Module {
    NamedModule place;
    std::unordered_map<uint64_t, uint32_t> frames;
  };
  using Key = std::pair<std::string, std::vector<uint8_t>>;  // path and build-id

  uint32_t module_row(const recording::Module& module);
  std::optional<uint32_t> find_module(const recording::Module& module) const;
  // `modules`: by row of `names`, which row here is the same.
  void add(const recording::Names& names, const std::vector<recording::Frame>& frames,
           const std::vector<uint32_t>& modules);
  uint32_t text(const std::string& text);

  const symbolizer::Options options_;
  mutable std::mutex mutex_;
  std::mutex learning_;  // one at a time, and meanwhile what is known can be had
  std::map<Key, uint32_t> rows_;
  std::vector<Module> modules_;
  recording::Names names_;          // `frame` is a row of ours
  std::vector<size_t> first_line_;  // by that row
  std::unordered_map<std::string, uint32_t> texts_;
  std::map<std::vector<uint32_t>, uint32_t> functions_;  // name, file, line, module
};

}  // namespace sampan::serve
