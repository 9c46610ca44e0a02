// Which module was mapped where in one process, and when.
//
// A module that has been unloaded is kept: samples are looked up some time after they were taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "recording/tables.h"

namespace sampan::sampler {

struct AvmaRange {
  Avma start, end;
};
struct ModuleLoadRecord {
  MonotonicNs time_ns;
  uint64_t bias;
  Avma start_avma;  // of the whole file
  Avma end_avma;
  std::vector<uint8_t> build_id;
  std::string path;
  // Only this is mapped: the program itself has mapped a part of the file once more, as V8 does with
  // its built-in code, to have it near the code that it generates.
  std::optional<AvmaRange> part;

  Avma first_avma() const { return part ? part->start : start_avma; }
};
struct ModuleUnloadRecord {
  MonotonicNs time_ns;
  uint64_t bias;
  Avma start_avma;  // of what was mapped
};

class ModuleMap {
 public:
  // `module` is the file's row in the recording.
  void load(const ModuleLoadRecord& record, uint32_t module);
  void unload(const ModuleUnloadRecord& record);

  // The frame of a lookup AVMA in a sample taken at `time_ns`. If no module was
  // known there at that time, the next one counts, because it is announced only after dlopen has
  // run its constructors; failing that, the previous one, because dlclose announces before the
  // destructors run.
  recording::Frame lookup(Avma avma, MonotonicNs time_ns) const;

  // Time of the latest change. Lookups for later times have one answer until `changes` grows.
  MonotonicNs last_change_ns() const { return last_change_ns_; }
  uint64_t changes() const { return changes_; }

 private:
  struct Mapping {
    Avma start_avma, end_avma;
    uint64_t bias;
    MonotonicNs load_ns, unload_ns;
    uint32_t module;
  };
  void changed(MonotonicNs time_ns);

  std::vector<Mapping> mappings_;  // by start_avma, then load_ns
  uint64_t longest_ = 0;           // bytes of the longest mapping
  MonotonicNs last_change_ns_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace sampan::sampler
