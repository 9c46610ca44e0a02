#include "importers/perf_stacks.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "sampler/process/remote_memory.h"
#include "unwind/stack_walk.h"

namespace sampan::importers {

void AddressSpace::map(PerfMapping mapping) {
  const uint64_t begin = mapping.begin, end = begin + mapping.size;
  if (end < begin) return;
  auto next = mappings_.lower_bound(begin);
  if (next != mappings_.begin()) {
    PerfMapping& before = std::prev(next)->second;
    const uint64_t before_end = before.begin + before.size;
    if (before_end > end) {  // it goes on behind the new one
      PerfMapping rest = before;
      rest.begin = end;
      rest.size = before_end - end;
      rest.offset += end - before.begin;
      mappings_[end] = std::move(rest);
    }
    before.size = std::min(before.size, begin - before.begin);
  }
  while (next != mappings_.end() && next->first < end) {
    PerfMapping old = std::move(next->second);
    next = mappings_.erase(next);
    const uint64_t old_end = old.begin + old.size;
    if (old_end <= end) continue;
    old.offset += end - old.begin;
    old.begin = end;
    old.size = old_end - end;
    next = mappings_.emplace(end, std::move(old)).first;
    break;
  }
  mappings_[begin] = std::move(mapping);
}

const PerfMapping* AddressSpace::find(uint64_t avma) const {
  const auto after = mappings_.upper_bound(avma);
  if (after == mappings_.begin()) return nullptr;
  const PerfMapping& mapping = std::prev(after)->second;
  return avma - mapping.begin < mapping.size ? &mapping : nullptr;
}

// Memory of unwind/stack_walk.h: the copy of the stack, and code from the files.
class CopiedStack {
 public:
  CopiedStack(const PerfSample& sample, const PerfWalker& walker) : walker_(walker) {
    stack_.use_copy(Avma::at(sample.registers.value[unwind::kSp]), std::as_bytes(sample.stack));
  }

  bool covers(uint64_t low, uint64_t high) const { return stack_.covers(low, high); }
  uint64_t load(uint64_t avma) const { return stack_.load(avma); }
  bool read(uint64_t avma, uint64_t& value) { return stack_.read(avma, value); }
  bool readable(uint64_t avma) { return stack_.readable(avma); }
  static constexpr bool may_read_code() { return true; }
  bool read_code(uint64_t avma, uint64_t& value) const {
    const PerfMapping* mapping = nullptr;
    const MappedFile* const file = walker_.file_at(avma, &mapping);
    if (file == nullptr) return false;
    uint8_t bytes[sizeof value];
    if (!sampler::read_all(file->bytes, avma - mapping->begin + mapping->offset, bytes))
      return false;
    std::memcpy(&value, bytes, sizeof value);
    return true;
  }
  bool is_cut_off() const { return stack_.truncated(); }

 private:
  const PerfWalker& walker_;
  sampler::RemoteMemory stack_;
};

PerfWalker::PerfWalker(MappedFiles& files) : files_(files) {
  if (!cache_.rows.start()) throw Error("no memory for the rows of a walker");
}

PerfWalker::~PerfWalker() {
  cache_.rows.stop();
}

const MappedFile* PerfWalker::file_at(uint64_t avma, const PerfMapping** mapping) const {
  *mapping = space_->find(avma);
  return *mapping == nullptr ? nullptr : files_.find((*mapping)->path, (*mapping)->build_id);
}

bool PerfWalker::find(uint64_t pc, unwind::Module& module) const {
  const PerfMapping* mapping = nullptr;
  const MappedFile* const file = file_at(pc, &mapping);
  if (file == nullptr) return false;
  const sampler::ElfLayout::Segment* const segment = file->layout.mapped_from(mapping->offset);
  if (segment == nullptr) return false;
  const uint64_t bias = mapping->begin - mapping->offset - (segment->svma - segment->offset);
  const auto [image, is_new] = images_.try_emplace({mapping->path, bias});
  if (is_new) image->second = sampler::UnwindImage(file->layout, bias, file->bytes);
  module = {mapping->begin, mapping->begin + mapping->size, image->second.eh_frame_hdr(),
            image->second.image()};
  return true;
}

unwind::WalkResult PerfWalker::walk(const PerfSample& sample, const AddressSpace& space,
                                    std::span<uint64_t> frames) {
  space_ = &space;
  if (generation_ != space.generation()) cache_.rows.forget();
  generation_ = space.generation();
  CopiedStack memory(sample, *this);
  unwind::StackWalk<CopiedStack, PerfWalker> walk(memory, *this, cache_, true);
  unwind::WalkResult result = walk.run(sample.registers, frames);
  const bool failed_read =
      result.stop == wire::StopReason::kBadAddress || result.stop == wire::StopReason::kNoRule;
  if (failed_read && memory.is_cut_off()) result.stop = wire::StopReason::kNotCopied;
  return result;
}

}  // namespace sampan::importers
