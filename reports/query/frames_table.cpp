#include "reports/query/tables.h"

#include <algorithm>
#include <utility>

#include "profile/frames.h"

namespace sampan::reports {
namespace {

using profile::Frame;
using profile::kNone;
using profile::Profile;

enum : size_t { kStack, kDepth, kName, kFunction, kFile, kLine, kModule, kAddress, kInlined };

const std::vector<QueryColumn> kColumns = {
    {"stack", "INTEGER",
     "the stack, as samples.stack, allocations.stack, lock_waits.stack and others"},
    {"depth", "INTEGER", "0 is the innermost frame"},
    {"name", "TEXT", "of the function, or of what the thread waits for: [read pipe:[7]]"},
    {"function", "INTEGER", "row of functions"},
    {"file", "TEXT", "of the line that was executed"},
    {"line", "INTEGER", "the line"},
    {"module", "INTEGER", "row of modules"},
    {"address", "INTEGER", "in the module, as its symbol table counts (SVMA); else in memory"},
    {"is_inlined", "INTEGER", "1: inlined into the next frame"},
};

Value text_or_null(std::string_view text) {
  return text.empty() ? Value() : Value(text);
}

Value number_or_null(uint64_t number, uint64_t none) {
  return number == none ? Value() : Value(static_cast<int64_t>(number));
}

// Python's functions and waits have none.
bool has_address(const profile::Location& location) {
  return location.wait == kNone && !profile::is_python(location);
}

class FramesCursor : public Cursor {
 public:
  FramesCursor(const Profile& profile, std::vector<uint32_t> stacks)
      : profile_(profile), stacks_(std::move(stacks)) {
    open_stack();
  }

  bool done() const override { return at_ == stacks_.size(); }
  void next() override {
    if (++depth_ < frames_.size()) return;
    ++at_;
    open_stack();
  }
  int64_t identity() const override {
    constexpr int kDepthBits = 32;
    return int64_t{stacks_[at_]} << kDepthBits | static_cast<int64_t>(depth_);
  }
  Value value(size_t column) const override {
    const Frame& frame = frames_[depth_];
    const profile::Location& location = profile_.locations[frame.location];
    switch (column) {
      case kStack: return int64_t{stacks_[at_]};
      case kDepth: return static_cast<int64_t>(depth_);
      case kName: return profile::function_name(profile_, frame.function);
      case kFunction: return number_or_null(frame.function, kNone);
      case kFile: return text_or_null(profile_.strings[frame.file]);
      case kLine: return number_or_null(frame.line, 0);
      case kModule: return number_or_null(location.module, kNone);
      case kAddress:
        return has_address(location) ? Value(static_cast<int64_t>(location.address)) : Value();
      case kInlined: return int64_t{frame.inlined};
      default: return {};
    }
  }

 private:
  void open_stack() {
    depth_ = 0;
    for (; at_ < stacks_.size(); ++at_) {
      profile::leaf_to_root(profile_, stacks_[at_], &frames_);
      if (!frames_.empty()) return;
    }
  }

  const Profile& profile_;
  const std::vector<uint32_t> stacks_;
  size_t at_ = 0;
  std::vector<Frame> frames_;  // of the stack
  size_t depth_ = 0;
};

class FramesTable : public QueryTable {
 public:
  explicit FramesTable(const Profile& profile)
      : QueryTable("frames", "the stacks, a row for each frame", kColumns), profile_(profile) {}

  std::unique_ptr<Cursor> rows(std::optional<int64_t> key) const override {
    if (!stacks_) stacks_ = used_stacks();
    std::vector<uint32_t> stacks;
    if (!key) {
      stacks = *stacks_;
    } else if (std::ranges::binary_search(*stacks_, *key)) {
      stacks.push_back(static_cast<uint32_t>(*key));
    }
    return std::make_unique<FramesCursor>(profile_, std::move(stacks));
  }

 private:
  // Each once, by number.
  std::vector<uint32_t> used_stacks() const {
    std::vector<uint32_t> stacks;
    const auto add = [&](uint32_t stack) {
      if (stack != kNone) stacks.push_back(stack);
    };
    for (const profile::Sample& sample : profile_.samples) add(sample.stack);
    for (const profile::Block& block : profile_.blocks) {
      add(block.stack);
      add(block.freeing_stack);
    }
    for (const profile::LockWait& wait : profile_.lock_waits) {
      add(wait.stack);
      add(wait.holder_stack);
      add(wait.waker_stack);
    }
    std::ranges::sort(stacks);
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
    return stacks;
  }

  const Profile& profile_;
  mutable std::optional<std::vector<uint32_t>> stacks_;  // found when the table is first read
};

}  // namespace

std::unique_ptr<QueryTable> frames_table(const Profile& profile) {
  return std::make_unique<FramesTable>(profile);
}

}  // namespace sampan::reports
