#include "sampler/recorder/code_names.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace sampan::sampler {
namespace {

// Samples are read so much later at most.
constexpr uint64_t kKept = 10 * kNsPerSecond;
constexpr size_t kMostCodes = 1 << 17;

}  // namespace

CodeNames::CodeNames(recording::Writer& writer, SessionClock clock, pid_t pid, uint32_t process)
    : writer_(writer), clock_(clock), process_(process), jit_(pid), map_(pid) {}

void CodeNames::add(const std::vector<StackRecorder::Unknown>& frames) {
  if (generation_ != writer_.generation()) frames_.clear();
  generation_ = writer_.generation();
  for (const auto& [avma, row] : frames) {
    Frame& frame = frames_[avma];
    if (frame.row == row) continue;
    frame = {row};
    lacks_names_ |= !name(avma, frame);
  }
}

void CodeNames::look(MonotonicNs now_ns) {
  if (lacks_names_ && now_ns >= next_search_ns_) {
    map_.look();
    jit_.find_descriptors();
    lacks_names_ = false;
    next_search_ns_ = now_ns + search_pause_ns_;
    search_pause_ns_ = std::min(2 * search_pause_ns_, kLongestSearchPause);
  }
  if (!jit_.has_descriptors()) return;
  if (const auto look = jit_.look(now_ns)) apply(*look);
}

void CodeNames::apply(const GdbJit::Look& look) {
  std::unordered_set<const RegisteredCode*> there;
  for (const auto& code : look.code) there.insert(code.get());
  std::vector<std::shared_ptr<const RegisteredCode>> changed;
  for (Code& known : codes_) {
    const bool is_there = there.erase(known.code.get()) != 0;
    if (is_there || !look.is_complete || known.gone_ns != kStillThere) continue;
    known.gone_ns = look.time_ns;
    changed.push_back(known.code);
  }
  for (auto code = look.code.rbegin(); code != look.code.rend(); ++code) {
    if (codes_.size() >= kMostCodes || there.erase(code->get()) == 0) continue;
    codes_.push_back({*code, complete_ns_, look.time_ns});
    changed.push_back(*code);
  }
  looked_ns_ = look.time_ns;
  if (look.is_complete) complete_ns_ = look.time_ns;
  for (const auto& code : changed) name_frames_of(*code);
  std::erase_if(codes_, [&](const Code& code) {
    return code.gone_ns != kStillThere && code.gone_ns + kKept < look.time_ns;
  });
}

void CodeNames::name_frames_of(const RegisteredCode& code) {
  for (const RegisteredCode::Function& function : code.functions()) {
    auto next = frames_.lower_bound(function.begin);
    for (; next != frames_.end() && next->first < function.end; ++next) {
      name(next->first, next->second);
    }
  }
}

// Writes the names that are new since this was done last. False: the frame has none now.
bool CodeNames::name(Avma avma, Frame& frame) {
  const Code* before = nullptr;
  for (const Code& code : codes_) {
    const RegisteredCode::Function* const function = code.code->find(avma);
    if (function == nullptr) continue;
    if (code.seen_ns > frame.named_ns) {
      // Other code was there at the look before.
      const bool takes_a_place = before != nullptr && before->seen_ns <= code.absent_ns &&
                                 before->gone_ns > code.absent_ns;
      if (takes_a_place && before->code->find(avma)->name != function->name) {
        write(frame, code.absent_ns, recording::kUnnamedCode);
      }
      write(frame, takes_a_place ? code.seen_ns : code.absent_ns, function->name);
    }
    if (code.gone_ns != kStillThere && code.gone_ns > frame.named_ns) {
      write(frame, code.gone_ns, recording::kUnnamedCode);
    }
    before = &code;
  }
  frame.named_ns = looked_ns_;
  return before != nullptr && before->gone_ns == kStillThere;
}

void CodeNames::look_at_map() {
  if (!map_.is_elsewhere() || frames_.empty()) return;
  std::map<Avma, std::string> names;  // the last one counts
  map_.read([&](const JitCode& code) {
    auto next = frames_.lower_bound(Avma::at(code.begin));
    for (; next != frames_.end() && next->first < code.end; ++next) {
      if (!next->second.has_name) names[next->first] = code.name;
    }
  });
  for (const auto& [avma, name] : names) write(frames_.at(avma), 0, name);
}

void CodeNames::write(Frame& frame, MonotonicNs from_ns, std::string_view name) {
  frame.has_name |= name != recording::kUnnamedCode;
  writer_.add({process_, frame.row, clock_.at(from_ns), 0}, name);
}

}  // namespace sampan::sampler
