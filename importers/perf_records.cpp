#include "importers/perf_records.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/byte_cursor.h"
#include "base/error.h"

namespace sampan::importers {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint64_t kCallStack = PERF_SAMPLE_BRANCH_CALL_STACK;

std::string text_until_zero(Bytes bytes) {
  return {bytes.begin(), std::ranges::find(bytes, 0)};
}

// What the kernel appends to records other than samples, if the attributes ask for it.
size_t trailer_size(const perf_event_attr& attributes) {
  if (!attributes.sample_id_all) return 0;
  constexpr uint64_t kFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                               PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  return 8 * static_cast<size_t>(std::popcount(attributes.sample_type & kFields));
}

// Skips the values of a PERF_SAMPLE_READ.
void skip_values(const perf_event_attr& attributes, ByteCursor* in) {
  const uint64_t format = attributes.read_format;
  const bool is_group = (format & PERF_FORMAT_GROUP) != 0;
  const uint64_t values = is_group ? in->u64() : (in->u64(), 1);
  const int times =
      std::popcount(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
  constexpr uint64_t kLost = 1 << 4;  // PERF_FORMAT_LOST, Linux 6.0
  const int of_each = std::popcount(format & (PERF_FORMAT_ID | kLost)) + (is_group ? 1 : 0);
  if (values > in->remaining()) return in->fail();
  in->skip(8 * (static_cast<size_t>(times) +
                static_cast<size_t>(values) * static_cast<size_t>(of_each)));
}

void read_registers(const perf_event_attr& attributes, ByteCursor* in, PerfSample* sample) {
  const uint64_t abi = in->u64(), mask = attributes.sample_regs_user;
  if (abi == PERF_SAMPLE_REGS_ABI_NONE) return;
  std::array<uint64_t, 64> values{};
  for (size_t number = 0; number < values.size(); ++number) {
    if ((mask >> number & 1) != 0) values[number] = in->u64();
  }
  if (abi != PERF_SAMPLE_REGS_ABI_64) return;
  sample->has_registers = true;
  for (size_t i = 0; i < unwind::kRegisterCount; ++i) {
    sample->has_registers &= (mask >> unwind::kPerfNumbers[i] & 1) != 0;
    sample->registers.value[i] = values[unwind::kPerfNumbers[i]];
  }
}

void read_stack(ByteCursor* in, PerfSample* sample) {
  const uint64_t size = in->u64();
  if (size == 0) return;
  const Bytes copied = in->take(size);
  const uint64_t valid = in->u64();  // what could be copied of it
  if (in->ok() && valid <= copied.size()) sample->stack = copied.first(valid);
}

std::vector<uint8_t> build_id_of(ByteCursor in) {
  constexpr size_t kLongest = 20;
  const uint8_t size = in.u8();
  in.skip(3);
  const Bytes bytes = in.take(std::min<size_t>(size, kLongest));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

PerfDecoder::PerfDecoder(const PerfFile& file) : file_(file) {
  for (size_t i = 0; i < file.events.size(); ++i) {
    for (const uint64_t id : file.events[i].ids) event_by_id_[id] = i;
  }
}

// The id says which one of several events it is: it stands at a fixed place if it is an IDENTIFIER. Otherwise all events
// have the same layout up to it.
size_t PerfDecoder::event_of(const PerfRecord& record) const {
  if (file_.events.size() < 2) return 0;
  const perf_event_attr& first = file_.events.front().attributes;
  const uint64_t type = first.sample_type;
  const bool is_sample = record.type == PERF_RECORD_SAMPLE;
  if (!is_sample && !first.sample_id_all) return 0;
  size_t before = 0, after = 0;  // fields of 8 bytes around the id
  if ((type & PERF_SAMPLE_IDENTIFIER) == 0) {
    if ((type & PERF_SAMPLE_ID) == 0) return 0;
    before = static_cast<size_t>(std::popcount(
        type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)));
    after = static_cast<size_t>(std::popcount(type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU)));
  }
  const size_t at = is_sample ? 8 * before : record.body.size() - 8 * (after + 1);
  if (record.body.size() < 8 * (after + 1)) return 0;
  ByteCursor in(record.body);
  in.skip(at);
  const auto found = event_by_id_.find(in.u64());
  return found != event_by_id_.end() ? found->second : 0;
}

uint64_t PerfDecoder::time_of(const PerfRecord& record) const {
  const perf_event_attr& attributes = file_.events[event_of(record)].attributes;
  const uint64_t type = attributes.sample_type;
  if ((type & PERF_SAMPLE_TIME) == 0) return 0;
  ByteCursor in(record.body);
  if (record.type == PERF_RECORD_SAMPLE) {
    in.skip(8 * static_cast<size_t>(std::popcount(
                    type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID))));
    return in.u64();
  }
  const size_t trailer = trailer_size(attributes);
  if (trailer == 0 || trailer > record.body.size()) return 0;
  in.skip(record.body.size() - trailer);
  if ((type & PERF_SAMPLE_TID) != 0) in.u64();
  return in.u64();
}

std::optional<PerfSample> PerfDecoder::sample(const PerfRecord& record) const {
  PerfSample sample;
  sample.event = event_of(record);
  const perf_event_attr& attributes = file_.events[sample.event].attributes;
  const uint64_t type = attributes.sample_type;
  const auto has = [type](uint64_t field) { return (type & field) != 0; };
  ByteCursor in(record.body);
  if (has(PERF_SAMPLE_IDENTIFIER)) in.u64();
  if (has(PERF_SAMPLE_IP)) sample.ip = in.u64();
  if (has(PERF_SAMPLE_TID)) {
    sample.pid = static_cast<int32_t>(in.u32());
    sample.tid = static_cast<int32_t>(in.u32());
  }
  if (has(PERF_SAMPLE_TIME)) sample.time_ns = in.u64();
  if (has(PERF_SAMPLE_ADDR)) in.u64();
  if (has(PERF_SAMPLE_ID)) in.u64();
  if (has(PERF_SAMPLE_STREAM_ID)) in.u64();
  if (has(PERF_SAMPLE_CPU)) in.u64();
  sample.period = has(PERF_SAMPLE_PERIOD) ? in.u64()
                  : attributes.freq       ? 0
                                          : attributes.sample_period;
  if (has(PERF_SAMPLE_READ)) skip_values(attributes, &in);
  if (has(PERF_SAMPLE_CALLCHAIN)) {
    const uint64_t size = in.u64();
    if (size > in.remaining() / 8) return std::nullopt;
    for (uint64_t i = 0; i < size; ++i) sample.chain.push_back(in.u64());
  }
  if (has(PERF_SAMPLE_RAW)) in.skip(in.u32());
  if (has(PERF_SAMPLE_BRANCH_STACK)) {
    const uint64_t size = in.u64();
    if ((attributes.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0) in.u64();
    if (size > in.remaining() / sizeof(PerfBranch)) return std::nullopt;
    for (uint64_t i = 0; i < size; ++i) {
      const auto branch = in.fixed<PerfBranch>();
      if ((attributes.branch_sample_type & kCallStack) != 0) sample.branches.push_back(branch);
    }
  }
  if (has(PERF_SAMPLE_REGS_USER)) read_registers(attributes, &in, &sample);
  if (has(PERF_SAMPLE_STACK_USER)) read_stack(&in, &sample);
  sample.in_kernel = (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  return in.ok() ? std::optional(std::move(sample)) : std::nullopt;
}

std::optional<PerfMapping> PerfDecoder::mapping(const PerfRecord& record) const {
  ByteCursor in(record.body);
  PerfMapping mapping;
  mapping.pid = static_cast<int32_t>(in.u32());
  in.u32();  // tid
  mapping.begin = in.u64();
  mapping.size = in.u64();
  mapping.offset = in.u64();
  bool is_code = (record.misc & PERF_RECORD_MISC_MMAP_DATA) == 0;
  if (record.type == PERF_RECORD_MMAP2) {
    constexpr size_t kFileSize = 24;     // device, inode and generation, or a build-id
    constexpr uint32_t kExecutable = 4;  // PROT_EXEC
    const Bytes file = in.take(kFileSize);
    if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0)
      mapping.build_id = build_id_of(ByteCursor(file));
    // Since perf 7 the kernel's record, which perf makes up, has no protection.
    is_code = (in.u32() & kExecutable) != 0 || mapping.pid == -1;
    in.u32();  // flags
  }
  mapping.path = text_until_zero(in.take(in.remaining()));
  if (!in.ok() || !is_code || mapping.size == 0) return std::nullopt;
  return mapping;
}

std::optional<PerfComm> PerfDecoder::comm(const PerfRecord& record) const {
  ByteCursor in(record.body);
  PerfComm comm;
  comm.pid = static_cast<int32_t>(in.u32());
  comm.tid = static_cast<int32_t>(in.u32());
  comm.name = text_until_zero(in.take(in.remaining()));
  comm.is_exec = (record.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  return in.ok() ? std::optional(std::move(comm)) : std::nullopt;
}

std::optional<PerfTask> PerfDecoder::task(const PerfRecord& record) const {
  ByteCursor in(record.body);
  PerfTask task;
  for (int32_t* field : {&task.pid, &task.parent_pid, &task.tid, &task.parent_tid}) {
    *field = static_cast<int32_t>(in.u32());
  }
  return in.ok() ? std::optional(task) : std::nullopt;
}

std::optional<uint64_t> PerfDecoder::lost(const PerfRecord& record) const {
  ByteCursor in(record.body);
  if (record.type == PERF_RECORD_LOST) in.u64();  // id; LOST_SAMPLES has the count alone
  const uint64_t count = in.u64();
  return in.ok() ? std::optional(count) : std::nullopt;
}

std::string chosen_event(const std::map<std::string, uint64_t>& samples,
                         const std::string& weight) {
  if (weight.empty()) {
    return std::ranges::max_element(samples, {}, [](const auto& entry) { return entry.second; })
        ->first;
  }
  if (samples.contains(weight)) return weight;
  std::string known;
  for (const auto& [name, count] : samples) known += (known.empty() ? "" : ", ") + name;
  throw Error("it has no event '{}' (it has: {})", weight, known);
}

std::string_view without_modifiers(std::string_view event) {
  const size_t colon = event.rfind(':');
  const bool has_modifiers =
      colon != std::string_view::npos &&
      event.find_first_not_of("ukhGHpPSDWIeb", colon + 1) == std::string_view::npos;
  return has_modifiers ? event.substr(0, colon) : event;
}

std::string event_name(const PerfEvent& event) {
  if (!event.name.empty()) return std::string(without_modifiers(event.name));
  constexpr std::array kHardware = {"cycles",   "instructions",  "cache-references", "cache-misses",
                                    "branches", "branch-misses", "bus-cycles"};
  constexpr std::array kSoftware = {"cpu-clock",        "task-clock",     "page-faults",
                                    "context-switches", "cpu-migrations", "minor-faults",
                                    "major-faults"};
  const uint64_t config = event.attributes.config;
  if (event.attributes.type == PERF_TYPE_HARDWARE && config < kHardware.size()) {
    return kHardware[config];
  }
  if (event.attributes.type == PERF_TYPE_SOFTWARE && config < kSoftware.size()) {
    return kSoftware[config];
  }
  return fmt::format("event {}:{:#x}", uint32_t{event.attributes.type}, config);
}

}  // namespace sampan::importers
