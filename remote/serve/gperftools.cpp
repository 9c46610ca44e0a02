#include "remote/serve/gperftools.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <vector>

namespace sampan::serve {
namespace {

using recording::kNone;

constexpr uint64_t kPeriodNs = 1'000'000;

// 64-bit words in native byte order.
void put(std::string& bytes, uint64_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

void put_stack(const recording::Recording& recording, uint32_t stack,
               const std::vector<uint64_t>& addresses, std::string& bytes) {
  std::vector<uint64_t> pcs;
  for (uint32_t i = stack; i != kNone; i = recording.stacks[i].prefix) {
    // Readers subtract one from a caller's address to get inside the call; ours is inside already.
    pcs.push_back(addresses[recording.stacks[i].frame] + (pcs.empty() ? 0 : 1));
  }
  if (pcs.empty()) pcs.push_back(0);
  put(bytes, pcs.size());
  for (const uint64_t pc : pcs) put(bytes, pc);
}

std::string one_line(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' '; }, '?');
  return name;
}

}  // namespace

std::string gperftools_profile(const recording::Recording& recording, KnownNames& names) {
  std::vector<uint64_t> addresses;
  for (uint32_t i = 0; i < recording.frames.size(); ++i) {
    addresses.push_back(names.address_of(recording, i));
  }
  std::unordered_map<uint32_t, uint64_t> weights;  // by stack
  for (const recording::Sample& sample : recording.samples) {
    if (sample.wait == kNone) weights[sample.stack] += sample.weight_ns;
  }
  std::vector<std::pair<uint32_t, uint64_t>> rows(weights.begin(), weights.end());
  std::ranges::sort(rows);

  std::string bytes;
  for (const uint64_t word : {uint64_t{0}, uint64_t{3}, uint64_t{0}, kPeriodNs / 1000, uint64_t{0}})
    put(bytes, word);
  uint64_t rest_ns = 0;  // the remainder below a whole sample is carried over to the next stack
  for (const auto& [stack, weight_ns] : rows) {
    rest_ns += weight_ns;
    const uint64_t count = rest_ns / kPeriodNs;
    rest_ns %= kPeriodNs;
    if (count == 0) continue;
    put(bytes, count);
    put_stack(recording, stack, addresses, bytes);
  }
  for (const uint64_t word : {0, 1, 0}) put(bytes, word);
  for (const NamedModule& module : names.modules()) {
    bytes += fmt::format("{:x}-{:x} r-xp {:08x} 00:00 0 {}\n", module.begin, module.end,
                         module.svma_begin, one_line(module.path));
  }
  return bytes;
}

std::string gperftools_symbols(std::string_view addresses, const KnownNames& names) {
  if (addresses.empty()) return fmt::format("num_symbols: {}\n", std::max<size_t>(names.size(), 1));
  std::string text;
  while (!addresses.empty()) {
    std::string_view word = addresses.substr(0, addresses.find('+'));
    addresses.remove_prefix(std::min(addresses.size(), word.size() + 1));
    if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
    uint64_t address = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), address, 16);
    if (error != std::errc() || end != word.data() + word.size()) continue;
    std::string functions;
    for (const std::string& name : names.functions_at(address)) {
      if (!functions.empty()) functions.insert(0, "--");
      functions.insert(0, one_line(name));
    }
    if (!functions.empty()) text += fmt::format("0x{:x}\t{}\n", address, functions);
  }
  return text;
}

}  // namespace sampan::serve
