// The stacks of samples that perf copied (perf record --call-graph dwarf), walked by the shim's walker with the unwind
// information of the files that were mapped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "importers/mapped_files.h"
#include "importers/perf_records.h"
#include "sampler/process/module_image.h"
#include "unwind/image.h"
#include "unwind/walker.h"

namespace sampan::importers {

// What one process had mapped, at the time that the records have come to.
class AddressSpace {
 public:
  // Replaces what was there.
  void map(PerfMapping mapping);
  // Null where nothing is mapped.
  const PerfMapping* find(uint64_t avma) const;
  // Grows with each change; differs between any two address spaces.
  uint64_t generation() const { return generation_; }
  void touch(uint64_t generation) { generation_ = generation; }

 private:
  std::map<uint64_t, PerfMapping> mappings_;  // by begin
  uint64_t generation_ = 0;
};

class PerfWalker {
 public:
  explicit PerfWalker(MappedFiles& files);
  ~PerfWalker();
  PerfWalker(const PerfWalker&) = delete;
  PerfWalker& operator=(const PerfWalker&) = delete;

  // Writes lookup AVMAs, leaf first.
  unwind::WalkResult walk(const PerfSample& sample, const AddressSpace& space,
                          std::span<uint64_t> frames);

  // Modules of unwind/stack_walk.h, for the address space of the walk.
  bool find(uint64_t pc, unwind::Module& module) const;

 private:
  friend class CopiedStack;

  const MappedFile* file_at(uint64_t avma, const PerfMapping** mapping) const;

  MappedFiles& files_;
  const AddressSpace* space_ = nullptr;
  uint64_t generation_ = 0;  // of the address space that the cached rows are of
  unwind::WalkCache cache_;
  // By path and bias: what the walker needs of a file.
  mutable std::map<std::pair<std::string, uint64_t>, sampler::UnwindImage> images_;
};

}  // namespace sampan::importers
