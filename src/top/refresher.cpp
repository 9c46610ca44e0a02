#include "top/refresher.h"

#include <time.h>

#include <utility>

#include "base/clock.h"
#include "profile/profile.h"

namespace sampan::top {
namespace {

// Names may cost that much CPU at once, and a hundredth of the time that passes. What they cost is
// known afterwards: a large program takes the credit of some time to come.
constexpr uint64_t kAtOnce = 1'000'000'000;
constexpr uint64_t kShare = 100;

}  // namespace

void Refresher::refresh() {
  if (complete_) return;
  const bool over = source_.over();
  Slice slice = source_.next();
  const uint64_t from_ns = slice.from_ns, to_ns = slice.to_ns;
  history_.add(profile::load(std::move(slice.recording)), from_ns, to_ns);
  complete_ = over;
  find_names();
}

void Refresher::find_names() {
  const uint64_t now_ns = monotonic_ns();
  if (began_ns_ == 0) began_ns_ = now_ns;
  const bool may_spend = spent_ns_ <= kAtOnce + (now_ns - began_ns_) / kShare;
  if (!history_.lacks_names() || (!may_spend && !complete_)) return;
  const uint64_t before_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  history_.find_names(namer_);
  spent_ns_ += read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
}

}  // namespace sampan::top
