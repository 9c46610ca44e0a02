// .cpuprofile: JSON of V8's profiler, as Chrome's DevTools, `node --cpu-prof` and VS Code write it. Format: Profiler.Profile of
// the Chrome DevTools Protocol (chromedevtools.github.io/devtools-protocol/tot/Profiler).
//
// - A sample is a node of the call tree; it lasts until the next one.
// - "(idle)" is a wait, "(program)" is native code, and "(root)" is above all of them.
// - Lines and columns count from 0, and are those of the function's definition.
#include <rapidjson/document.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "importers/formats.h"
#include "importers/recording_builder.h"

namespace sampan::importers {
namespace {

using rapidjson::Value;

// A member of an object; null if it has none.
const Value* member(const Value& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

const Value& array(const Value& object, const char* name) {
  const Value* const value = member(object, name);
  if (value == nullptr || !value->IsArray()) throw Error("it has no array \"{}\"", name);
  return *value;
}

std::string text(const Value& object, const char* name) {
  const Value* const value = member(object, name);
  return value == nullptr || !value->IsString()
             ? ""
             : std::string(value->GetString(), value->GetStringLength());
}

// A number from 0, such as a line; -1 where it is not known.
int64_t number(const Value& object, const char* name) {
  const Value* const value = member(object, name);
  if (value == nullptr || !value->IsNumber()) return -1;
  const double number = value->GetDouble();
  return number >= 0 && number < 1e15 ? static_cast<int64_t>(number) : -1;
}

struct Node {
  uint32_t frame = kNone;  // kNone: the root, or idle
  int64_t parent = -1;     // id
  bool is_idle = false;
  uint32_t stack = kNone;
  bool has_stack = false;
};

class CpuProfileReader {
 public:
  explicit CpuProfileReader(const Value& json) : json_(json) {}

  recording::Recording read() {
    builder_.session().program = "JavaScript";
    thread_ = builder_.thread(builder_.process(0, "imported"), 0, "main");
    read_nodes();
    const uint64_t duration_ns = read_samples();
    return builder_.take(duration_ns);
  }

 private:
  void read_nodes() {
    for (const Value& row : array(json_, "nodes").GetArray()) {
      const int64_t id = number(row, "id");
      const Value* const place = member(row, "callFrame");
      if (id < 0 || place == nullptr) throw Error("a node has no id, or no callFrame");
      Node& node = nodes_[id];
      const std::string name = text(*place, "functionName");
      node.is_idle = name == "(idle)";
      if (name != "(root)" && !node.is_idle) {
        const int64_t line = number(*place, "lineNumber");
        const uint32_t first_line = line >= 0 && line < std::numeric_limits<int32_t>::max()
                                        ? static_cast<uint32_t>(line + 1)
                                        : 0;
        node.frame = builder_.frame(kNone, {.function = name.empty() ? "(anonymous)" : name,
                                            .file = text(*place, "url"),
                                            .first_line = first_line});
      }
      if (const Value* const children = member(row, "children");
          children != nullptr && children->IsArray()) {
        for (const Value& child : children->GetArray()) {
          if (child.IsInt64()) parents_[child.GetInt64()] = id;
        }
      }
      if (const int64_t parent = number(row, "parent"); parent >= 0) parents_[id] = parent;
    }
    for (auto& [id, node] : nodes_) {
      const auto parent = parents_.find(id);
      if (parent != parents_.end()) node.parent = parent->second;
    }
  }

  // Returns how long all of it lasted, in ns.
  uint64_t read_samples() {
    const auto samples = array(json_, "samples").GetArray();
    const auto deltas = array(json_, "timeDeltas").GetArray();
    if (samples.Size() != deltas.Size()) {
      throw Error("it has {} samples and {} timeDeltas", samples.Size(), deltas.Size());
    }
    const int64_t start_us = number(json_, "startTime"), end_us = number(json_, "endTime");
    int64_t time_us = 0;
    for (rapidjson::SizeType i = 0; i < samples.Size(); ++i) {
      time_us += delta_us(deltas[i]);
      const int64_t until_us = i + 1 < samples.Size() ? time_us + delta_us(deltas[i + 1])
                                                      : std::max(time_us, end_us - start_us);
      if (until_us > time_us) add(samples[i], time_us, until_us);
    }
    return static_cast<uint64_t>(std::max(time_us, end_us - start_us)) * kNsPerUs;
  }

  // Clocks of several CPUs may differ: the next sample is then before this one.
  static int64_t delta_us(const Value& value) {
    constexpr double kYear = 3e13;
    if (!value.IsNumber() || !(std::abs(value.GetDouble()) < kYear))
      throw Error("a timeDelta is no time");
    return static_cast<int64_t>(value.GetDouble());
  }

  void add(const Value& id, int64_t from_us, int64_t until_us) {
    const auto found = id.IsInt64() ? nodes_.find(id.GetInt64()) : nodes_.end();
    if (found == nodes_.end()) throw Error("a sample is of a node that is not there");
    const auto ns = [](int64_t us) {
      return static_cast<uint64_t>(std::max<int64_t>(us, 0)) * kNsPerUs;
    };
    uint32_t wait = kNone;
    if (found->second.is_idle) {
      wait = builder_.wait("idle");
      builder_.session().clock = "wall";
    }
    builder_.sample(thread_, stack_of(found->first), SessionNs::at(ns(until_us)),
                    ns(until_us - from_us), wait);
  }

  uint32_t stack_of(int64_t id) {
    Node& node = nodes_.at(id);
    if (node.has_stack) return node.stack;
    std::vector<uint32_t> frames;
    size_t depth = 0;
    for (auto at = nodes_.find(id); at != nodes_.end(); at = nodes_.find(at->second.parent)) {
      if (++depth > nodes_.size()) throw Error("a node is its own caller");
      if (at->second.frame != kNone) frames.push_back(at->second.frame);
    }
    node.has_stack = true;
    return node.stack = builder_.stack(frames);
  }

  const Value& json_;
  RecordingBuilder builder_;
  uint32_t thread_ = 0;
  std::unordered_map<int64_t, Node> nodes_;
  std::unordered_map<int64_t, int64_t> parents_;
};

}  // namespace

bool is_cpuprofile(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, 4096);
  const size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{' &&
         (start.find("\"nodes\"") != std::string_view::npos ||
          start.find("\"callFrame\"") != std::string_view::npos);
}

recording::Recording read_cpuprofile(std::string_view bytes, const Options& options) {
  if (!options.weight.empty()) throw Error("it has one value, its time: leave out --weight");
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(bytes.data(), bytes.size());
  if (json.HasParseError()) throw Error("it is no JSON from byte {} on", json.GetErrorOffset());
  return CpuProfileReader(json).read();
}

}  // namespace sampan::importers
