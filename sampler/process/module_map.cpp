#include "sampler/process/module_map.h"

#include <algorithm>

namespace sampan::sampler {
namespace {

constexpr MonotonicNs kStillLoaded = UINT64_MAX;
// dlopen and dlclose at the same few addresses for hours must not make lookups slow: beyond this
// many mappings, those that were unloaded first are forgotten.
constexpr size_t kMaxMappings = 4096;

}  // namespace

void ModuleMap::load(const ModuleLoadRecord& record, uint32_t module) {
  if (mappings_.size() >= kMaxMappings) {
    const auto oldest = std::min_element(
        mappings_.begin(), mappings_.end(),
        [](const Mapping& a, const Mapping& b) { return a.unload_ns < b.unload_ns; });
    mappings_.erase(oldest);
  }
  const AvmaRange mapped = record.part.value_or(AvmaRange{record.start_avma, record.end_avma});
  const Mapping mapping{mapped.start,   mapped.end,   record.bias,
                        record.time_ns, kStillLoaded, module};
  const auto place = std::upper_bound(
      mappings_.begin(), mappings_.end(), mapping,
      [](const Mapping& a, const Mapping& b) { return a.start_avma < b.start_avma; });
  mappings_.insert(place, mapping);
  longest_ = std::max(longest_, mapped.end - mapped.start);
  changed(record.time_ns);
}

void ModuleMap::unload(const ModuleUnloadRecord& record) {
  for (Mapping& mapping : mappings_) {
    if (mapping.start_avma == record.start_avma && mapping.bias == record.bias &&
        mapping.unload_ns == kStillLoaded) {
      mapping.unload_ns = record.time_ns;
    }
  }
  changed(record.time_ns);
}

void ModuleMap::changed(MonotonicNs time_ns) {
  last_change_ns_ = std::max(last_change_ns_, time_ns);
  ++changes_;
}

recording::Frame ModuleMap::lookup(Avma avma, MonotonicNs time_ns) const {
  const Mapping* best = nullptr;
  // Distance of the mapping's time from the sample's; later mappings come before earlier ones.
  const auto distance = [time_ns](const Mapping& mapping) -> std::pair<int, uint64_t> {
    if (time_ns < mapping.load_ns) return {1, mapping.load_ns - time_ns};
    if (time_ns >= mapping.unload_ns) return {2, time_ns - mapping.unload_ns};
    return {0, 0};
  };
  auto it = std::upper_bound(
      mappings_.begin(), mappings_.end(), avma,
      [](Avma value, const Mapping& mapping) { return value < mapping.start_avma; });
  while (it != mappings_.begin()) {
    --it;
    if (avma - it->start_avma >= longest_) break;  // no mapping that starts lower reaches `avma`
    if (avma >= it->end_avma) continue;
    if (best == nullptr || distance(*it) < distance(*best)) best = &*it;
  }
  if (best == nullptr) return {recording::kNone, avma};
  return {best->module, svma_of(avma, best->bias)};
}

}  // namespace sampan::sampler
