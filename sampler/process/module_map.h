// Which module was mapped where in one process, and when.
//
// A module that has been unloaded is kept: samples are looked up some time after they were taken.
#pragma once

#include <cstdint>
#include <vector>

#include "recording/tables.h"
#include "sampler/record_decoder.h"

namespace sampan::sampler {

class ModuleMap {
 public:
  // `module` is the row of the recording that the file has.
  void load(const ModuleLoadRecord& record, uint32_t module);
  void unload(const ModuleUnloadRecord& record);

  // The frame of a lookup AVMA in a sample taken at `time_ns` (CLOCK_MONOTONIC). Where no module
  // was known at that time, the one that came next counts: it is announced only when dlopen has
  // run its constructors. Then the one that was there last: dlclose announces before destructors.
  recording::Frame lookup(uint64_t avma, uint64_t time_ns) const;

  // When the latest change happened: lookups for later times have one answer, until `changes`
  // grows.
  uint64_t last_change_ns() const { return last_change_ns_; }
  uint64_t changes() const { return changes_; }

 private:
  struct Mapping {
    uint64_t start_avma, end_avma, bias;
    uint64_t load_ns, unload_ns;
    uint32_t module;
  };
  void changed(uint64_t time_ns);

  std::vector<Mapping> mappings_;  // by start_avma, then load_ns
  uint64_t longest_ = 0;           // bytes of the longest mapping
  uint64_t last_change_ns_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace sampan::sampler
