// The work on one module, in steps that a pool of threads can share: open it, resolve its
// compilation units in chunks, complete what they left open from the symbol tables.
//
// No step throws: what fails is named in problem(), and the addresses stay without lines.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolizer/module_source.h"
#include "symbolizer/symbolizer.h"

namespace sampan::symbolizer {

class ModuleWork {
 public:
  // `file` is opened: mostly the module's path.
  ModuleWork(const profile::Module& module, std::string file)
      : module_(module), file_(std::move(file)) {}
  void add(uint64_t svma) { svmas_.push_back(svma); }

  // First, in any thread. Makes at most `max_chunks` chunks.
  void open(const Options& options, uint64_t inflate_limit, size_t max_chunks);
  // Then each chunk, in any thread, at the same time. Counts finished addresses into `done`.
  size_t chunks() const { return chunks_.size(); }
  void resolve(size_t chunk, const Options& options, std::atomic<size_t>& done);
  // Last, in any thread.
  void complete();

  const profile::Module& module() const { return module_; }
  // None of an address that was not added; else at least one, each with a function.
  const SourceLines& lines(uint64_t svma) const;
  std::string problem() const;

 private:
  const SourceFunction* place(uint64_t svma);

  // Some units, and what one thread with one handle finds out about them.
  struct Chunk {
    std::vector<UnitAddresses> units;
    Names names;
    LinesByAddress lines;
    size_t damaged_units = 0;
    std::string problem;
  };

  const profile::Module& module_;
  const std::string file_;
  std::vector<uint64_t> svmas_;
  std::optional<ModuleSource> source_;
  std::vector<Chunk> chunks_;
  Names names_;  // of the symbol tables
  std::unordered_map<uint64_t, const SourceFunction*> places_;
  LinesByAddress lines_;
  std::string problem_;
};

}  // namespace sampan::symbolizer
