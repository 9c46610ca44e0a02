// gperftools: CPU profiles (binary) and heap profiles (text). Formats: gperftools.github.io/gperftools/cpuprofile-fileformat.html
// and heapprofile.html, as github.com/google/pprof/blob/main/profile/legacy_profile.go reads them.
//
// - Both list the mapped files at their end. Names are looked up later, in the files that this machine has.
// - A return address is after its call: one less is inside it.
// - The leaf of a CPU profile is from the signal's context. The frames after it may be those of the signal's handler, and
//   the leaf again.
// - A heap profile has four values: live and all objects, live and all bytes. It is a sample: "heap_v2/524288" is the mean
//   number of bytes between two samples, so an allocation of n bytes was seen with the probability 1 - exp(-n/524288).
//   "heap/1048576" is twice that number.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "importers/formats.h"
#include "importers/mapped_files.h"
#include "importers/recording_builder.h"
#include "importers/text_lines.h"

namespace sampan::importers {
namespace {

// Return addresses become frames.
class Frames {
 public:
  Frames(RecordingBuilder* builder, std::vector<sampler::MappedRange> ranges)
      : builder_(*builder), ranges_(std::move(ranges)) {}

  // A lookup address.
  uint32_t frame(uint64_t address) {
    const sampler::MappedRange* const range = range_at(ranges_, address);
    if (range == nullptr) return builder_.frame(kNone, address);
    const uint64_t svma = files_.svma(range->path, {}, address - range->start + range->offset);
    return builder_.frame(builder_.module(range->path), svma);
  }

  // The program is the first file.
  std::string program() const {
    if (ranges_.empty()) return "";
    const std::string& path = ranges_.front().path;
    return path.substr(path.rfind('/') + 1);
  }

 private:
  RecordingBuilder& builder_;
  std::vector<sampler::MappedRange> ranges_;
  MappedFiles files_;
};

// The words of a CPU profile, of the program's size and byte order.
class Words {
 public:
  Words(std::string_view bytes, size_t size, bool swapped)
      : bytes_(bytes), size_(size), swapped_(swapped) {}

  size_t left() const { return bytes_.size() / size_; }
  std::string_view rest() const { return bytes_; }
  uint64_t take() {
    if (bytes_.size() < size_) throw Error("it is cut off");
    uint64_t word = 0;
    for (size_t i = 0; i < size_; ++i) {
      const size_t shift = 8 * (swapped_ ? size_ - 1 - i : i);
      word |= uint64_t{static_cast<uint8_t>(bytes_[i])} << shift;
    }
    bytes_.remove_prefix(size_);
    return word;
  }

 private:
  std::string_view bytes_;
  size_t size_;
  bool swapped_;
};

// 0, 3 words of header after these two, version 0, the period in us, 0.
std::optional<Words> words_of(std::string_view bytes) {
  for (const size_t size : {size_t{8}, size_t{4}}) {
    for (const bool swapped : {false, true}) {
      if (bytes.size() < 5 * size) continue;
      Words words(bytes, size, swapped);
      if (words.take() == 0 && words.take() == 3 && words.take() == 0) return words;
    }
  }
  return std::nullopt;
}

struct CpuRecord {
  uint64_t count;
  std::vector<uint64_t> addresses;  // leaf first: of the instruction, then return addresses
};

std::vector<CpuRecord> read_records(Words* words) {
  std::vector<CpuRecord> records;
  while (words->left() > 0) {
    CpuRecord record;
    record.count = words->take();
    const uint64_t depth = words->take();
    if (depth > words->left()) throw Error("it is cut off");
    for (uint64_t i = 0; i < depth; ++i) record.addresses.push_back(words->take());
    if (record.count == 0) return records;  // 0, 1, 0: the end
    records.push_back(std::move(record));
  }
  return records;
}

// Removes what nearly all stacks have behind their leaf: the frames of the signal's handler, at most two.
void remove_handler(std::vector<CpuRecord>* records) {
  constexpr size_t kOthers = 32;  // of so many stacks, one may lack it
  for (int frame = 0; frame < 2; ++frame) {
    std::map<uint64_t, size_t> stacks;  // by address
    for (const CpuRecord& record : *records) {
      if (record.addresses.size() > 1) ++stacks[record.addresses[1]];
    }
    for (const auto& [address, count] : stacks) {
      if (count + records->size() / kOthers < records->size()) continue;
      for (CpuRecord& record : *records) {
        if (record.addresses.size() > 1 && record.addresses[1] == address) {
          record.addresses.erase(record.addresses.begin() + 1);
        }
      }
      break;
    }
  }
  for (CpuRecord& record : *records) {
    if (record.addresses.size() > 1 && record.addresses[0] == record.addresses[1]) {
      record.addresses.erase(record.addresses.begin() + 1);
    }
  }
}

// Live objects and bytes, all objects and bytes.
struct HeapValues {
  uint64_t live_objects, live_bytes, all_objects, all_bytes;
};

// "1: 9216 [1: 9216] @ ...": the values; `text` is then what follows.
std::optional<HeapValues> take_heap_values(std::string_view* text) {
  const auto take = [text](std::string_view end) -> std::optional<uint64_t> {
    const size_t size = text->find(end);
    if (size == std::string_view::npos) return std::nullopt;
    const auto number = number_of<uint64_t>(trimmed(text->substr(0, size)));
    text->remove_prefix(size + end.size());
    return number;
  };
  const auto live_objects = take(":"), live_bytes = take("["), all_objects = take(":"),
             all_bytes = take("]");
  if (!live_objects || !live_bytes || !all_objects || !all_bytes) return std::nullopt;
  return HeapValues{*live_objects, *live_bytes, *all_objects, *all_bytes};
}

// "@ heap_v2/524288": the mean number of bytes between samples; 0: all allocations were noted.
double heap_period(std::string_view header) {
  const size_t at = header.rfind('@'), slash = header.rfind('/');
  if (at == std::string_view::npos || slash == std::string_view::npos || slash < at) return 0;
  const std::string_view kind = trimmed(header.substr(at + 1, slash - at - 1));
  const auto number = number_of<uint64_t>(trimmed(header.substr(slash + 1)));
  if (!number) return 0;
  if (kind == "heap") return static_cast<double>(*number) / 2;
  return kind == "heap_v2" || kind == "heapz_v2" ? static_cast<double>(*number) : 0;
}

// The value that a sampled one stands for; `objects` and `bytes` were seen.
uint64_t unsampled(uint64_t value, uint64_t objects, uint64_t bytes, double period) {
  if (period <= 1 || objects == 0 || bytes == 0) return value;
  const double size = static_cast<double>(bytes) / static_cast<double>(objects);
  const double all = static_cast<double>(value) / (1 - std::exp(-size / period));
  constexpr double kLargest = 9e15;
  if (!(all < kLargest)) throw Error("a value is too large");
  return static_cast<uint64_t>(all);
}

uint64_t chosen_value(const HeapValues& values, const std::string& weight, double period) {
  const auto& [live_objects, live_bytes, all_objects, all_bytes] = values;
  if (weight == "inuse_space") return unsampled(live_bytes, live_objects, live_bytes, period);
  if (weight == "inuse_objects") return unsampled(live_objects, live_objects, live_bytes, period);
  if (weight == "alloc_space") return unsampled(all_bytes, all_objects, all_bytes, period);
  return unsampled(all_objects, all_objects, all_bytes, period);
}

constexpr std::string_view kHeapMark = "heap profile:";

}  // namespace

bool is_gperftools_cpu(std::string_view bytes) {
  return words_of(bytes).has_value();
}

recording::Recording read_gperftools_cpu(std::string_view bytes, const Options& options) {
  if (!options.weight.empty()) throw Error("it has one value, its CPU: leave out --weight");
  std::optional<Words> words = words_of(bytes);
  if (!words) throw Error("it does not begin as a CPU profile of gperftools");
  const uint64_t period_us = words->take();
  words->take();  // padding
  if (period_us == 0 || period_us > kNsPerSecond) throw Error("its period is {} µs", period_us);
  std::vector<CpuRecord> records = read_records(&*words);
  remove_handler(&records);

  RecordingBuilder builder;
  Frames frames(&builder, parse_maps(words->rest()));
  builder.session().program = frames.program();
  builder.session().rate_hz = static_cast<uint32_t>(kNsPerSecond / kNsPerUs / period_us);
  const uint32_t thread = builder.thread(builder.process(0, "imported"), 0, "all");
  std::vector<uint32_t> stack;
  for (const CpuRecord& record : records) {
    const std::vector<uint64_t>& addresses = record.addresses;
    if (record.count > UINT32_MAX) throw Error("a stack has {} samples", record.count);
    stack.clear();
    for (size_t i = 0; i < addresses.size(); ++i) {
      stack.push_back(frames.frame(i == 0 ? addresses[i] : addresses[i] - 1));
    }
    const uint64_t weight_ns = record.count * period_us * kNsPerUs;
    builder.samples(thread, builder.stack(stack), record.count, weight_ns);
  }
  return builder.take(0);
}

bool is_gperftools_heap(std::string_view bytes) {
  return bytes.starts_with(kHeapMark);
}

recording::Recording read_gperftools_heap(std::string_view bytes, const Options& options) {
  const std::string weight = options.weight.empty() ? "inuse_space" : options.weight;
  if (weight != "inuse_space" && weight != "inuse_objects" && weight != "alloc_space" &&
      weight != "alloc_objects") {
    throw Error(
        "it has no value '{}' (it has: inuse_space, inuse_objects, alloc_space, alloc_objects)",
        weight);
  }
  const size_t maps = std::min(bytes.find("MAPPED_LIBRARIES:"), bytes.find("--- Memory map: ---"));
  RecordingBuilder builder;
  Frames frames(&builder, maps == std::string_view::npos ? std::vector<sampler::MappedRange>()
                                                         : parse_maps(bytes.substr(maps)));
  builder.session().program = frames.program();
  builder.session().unit = weight.ends_with("_space") ? "bytes" : "objects";
  const uint32_t thread = builder.thread(builder.process(0, "imported"), 0, "all");

  bytes = bytes.substr(0, maps);
  const double period = heap_period(take_line(&bytes));
  std::vector<uint32_t> stack;
  for (size_t number = 2; !bytes.empty(); ++number) {
    std::string_view line = take_line(&bytes);
    if (trimmed(line).empty()) continue;
    const std::optional<HeapValues> values = take_heap_values(&line);
    if (!values || take_word(&line) != "@") throw Error("line {} is no allocation", number);
    stack.clear();
    while (!line.empty()) {
      std::string_view word = take_word(&line);
      if (word.starts_with("0x")) word.remove_prefix(2);
      const auto address = number_of<uint64_t>(word, 16);
      if (!address) throw Error("line {}: '{}' is no address", number, word);
      if (*address != 0) stack.push_back(frames.frame(*address - 1));
    }
    const uint64_t value = chosen_value(*values, weight, period);
    builder.samples(thread, builder.stack(stack), value == 0 ? 0 : 1, weight_of(value));
  }
  return builder.take(0);
}

}  // namespace sampan::importers
