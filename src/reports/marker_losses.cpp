#include "reports/marker_losses.h"

#include "reports/text.h"
#include "wire/loss.h"

namespace sampan::reports {
namespace {

using wire::Loss;

constexpr Loss kLosses[] = {Loss::kMarkerFull,      Loss::kMarkerNoThread, Loss::kMarkerDeep,
                            Loss::kMarkerUnmatched, Loss::kMarkerCounter,  Loss::kMarkerHole};

}  // namespace

std::vector<std::string> marker_losses(const profile::Profile& profile) {
  std::vector<std::string> sentences;
  for (const Loss loss : kLosses) {
    const auto reason = static_cast<size_t>(loss);
    if (reason >= profile.losses.size() || profile.losses[reason] == 0) continue;
    sentences.push_back("lost: " + count(profile.losses[reason]) + " " + loss_text(loss));
  }
  return sentences;
}

}  // namespace sampan::reports
