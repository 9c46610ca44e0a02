// Which part of a view's time functions had, with the sampling error of each share.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/frames.h"
#include "profile/view.h"

namespace sampan::profile {

enum class ShareBy { kTime, kSamples };
enum class ShareOf { kSelf, kTotal };  // functions without or with their callees

// The functions that a stack counts for: that of its leaf, or each one once.
class StackFunctions {
 public:
  StackFunctions(const Profile& profile, ShareOf of) : profile_(profile), of_(of) {}

  const std::vector<uint32_t>& of(uint32_t stack);

 private:
  std::vector<uint32_t> find(uint32_t stack);

  const Profile& profile_;
  ShareOf of_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> known_;
  std::vector<Frame> frames_;
};

struct FunctionShare {
  double share = 0;     // of the view's time or samples, 0 to 1
  double variance = 0;  // of the share, by sampling (ShareNoise in statistics.h)
};

// One for each of `functions`. The view has samples.
std::vector<FunctionShare> function_shares(const View& view, StackFunctions& of,
                                           const std::vector<uint32_t>& functions,
                                           ShareBy by = ShareBy::kTime);

}  // namespace sampan::profile
