#include "exporters/thread_names.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/utf8.h"

namespace sampan::exporters {
namespace {

constexpr size_t kLongestPart = 64;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ';
}

bool is_file_safe(char c) {
  constexpr std::string_view kOthers = "._+-";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kOthers.find(c) != std::string_view::npos;
}

std::string printable_name(const profile::View& view, uint32_t thread) {
  std::string name = valid_utf8(view.thread_name(thread));
  std::replace_if(name.begin(), name.end(), is_control, ' ');
  return name.empty() ? "thread " + std::to_string(view.profile->threads[thread].tid) : name;
}

}  // namespace

std::vector<std::string> thread_labels(const profile::View& view) {
  std::vector<std::string> labels;
  std::unordered_map<std::string, int> uses;
  for (const uint32_t thread : view.threads) {
    labels.push_back(printable_name(view, thread));
    ++uses[labels.back()];
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (uses[labels[i]] == 1) continue;
    labels[i] += " (" + std::to_string(view.profile->threads[view.threads[i]].tid) + ")";
  }
  return labels;
}

std::string file_name_part(const std::string& text) {
  std::string part = text.substr(0, kLongestPart);
  std::replace_if(
      part.begin(), part.end(), [](char c) { return !is_file_safe(c); }, '_');
  return part.empty() ? "unnamed" : part;
}

}  // namespace sampan::exporters
