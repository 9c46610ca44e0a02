#include "sampler/process/process_pages.h"

namespace sampan::sampler {
namespace {

constexpr size_t kMostPages = 1 << 15;  // 128 MB
constexpr unsigned kReadsBetweenQuestions = 1024;

}  // namespace

std::span<const std::byte> ProcessPages::from(uint64_t avma) {
  if (++reads_ % kReadsBetweenQuestions == 0 && !may_go_on_()) is_cut_ = true;
  if (is_cut_ || avma < kPageSize || avma >= kEnd) return {};
  const uint64_t within = avma % kPageSize, page = avma - within;
  if (page != last_) {
    auto place = pages_.find(page);
    if (place == pages_.end()) {
      if (pages_.size() == kMostPages || !may_go_on_()) {
        is_cut_ = true;
        return {};
      }
      auto bytes = std::make_unique<Page>();
      if (!fetch_(page, *bytes)) bytes.reset();
      place = pages_.emplace(page, std::move(bytes)).first;
    }
    last_ = page;
    last_page_ = place->second.get();
  }
  if (last_page_ == nullptr) return {};
  return std::span<const std::byte>(*last_page_).subspan(within);
}

}  // namespace sampan::sampler
