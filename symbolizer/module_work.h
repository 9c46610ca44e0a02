// The work on one module, in steps for a pool of threads: open it, resolve its compilation units in
// chunks, complete the rest from the symbol tables.
//
// No step throws: problem() names what failed, and the addresses stay without lines.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbolizer/module_source.h"
#include "symbolizer/name_cache.h"
#include "symbolizer/symbolizer.h"
#include "symbolizer/unit_lines.h"

namespace sampan::symbolizer {

class ModuleWork {
 public:
  // `file`: what is opened, usually the module's path.
  ModuleWork(const profile::Module& module, std::string file, const Options& options)
      : module_(module), file_(std::move(file)), options_(options), names_(options.linkage_names) {}
  void add(uint64_t svma) { svmas_.push_back(svma); }

  // The first step, in any thread. Makes at most `max_chunks` chunks.
  void open(uint64_t inflate_limit, size_t max_chunks);
  // The second step: each chunk in any thread, at the same time. Adds finished addresses to `done`.
  size_t chunks() const { return chunks_.size(); }
  void resolve(size_t chunk, std::atomic<size_t>& done);
  // The last step, in any thread.
  void complete();

  const profile::Module& module() const { return module_; }
  // Empty for an address that was not added; else at least one line, each with a function.
  const SourceLines& lines(uint64_t svma) const;
  std::string problem() const;

 private:
  void check_unchanged() const;
  bool is_named(uint64_t svma) const;
  const SourceFunction* variable(uint64_t svma);  // null: there is none
  const SourceFunction* place(uint64_t svma);

  // Some units, and what one thread finds out about them.
  struct Chunk {
    explicit Chunk(bool linkage_names) : names(linkage_names) {}
    std::vector<dwarf::UnitAddresses> units;
    Names names;
    size_t damaged_units = 0;
    std::string problem;
  };

  const profile::Module& module_;
  const std::string file_;
  const Options& options_;
  std::vector<uint64_t> svmas_;
  std::vector<uint64_t> unknown_;  // not in the cache
  std::optional<NameCache> cache_;
  std::optional<ModuleSource> source_;
  std::deque<Chunk> chunks_;
  Names names_;  // from the symbol tables
  std::unordered_map<uint64_t, const SourceFunction*> places_;
  LinesByAddress lines_;
  std::string problem_;
};

}  // namespace sampan::symbolizer
