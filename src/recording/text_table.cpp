#include "recording/text_table.h"

#include <xxhash.h>

namespace sampan::recording {
namespace {

constexpr size_t kFirstPlaces = 64;

uint64_t hash_of(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

TextTable::TextTable(std::vector<std::string>* texts) : texts_(texts), places_(kFirstPlaces) {
  while (places_.size() / 2 < texts_->size()) places_.resize(places_.size() * 2);
  for (uint32_t i = 1; i < texts_->size(); ++i) {
    const std::string& text = (*texts_)[i];
    places_[place_of(text, hash_of(text))] = i;
  }
}

uint32_t TextTable::index(std::string_view text) {
  if (text.empty()) return 0;
  const uint64_t hash = hash_of(text);
  size_t place = place_of(text, hash);
  if (places_[place] != 0) return places_[place];
  if (texts_->size() >= places_.size() / 2) {
    grow();
    place = place_of(text, hash);
  }
  const auto next = static_cast<uint32_t>(texts_->size());
  texts_->emplace_back(text);
  bytes_ += text.size();
  return places_[place] = next;
}

void TextTable::clear() {
  texts_->resize(1);
  bytes_ = 0;
  places_.assign(kFirstPlaces, 0);
}

size_t TextTable::place_of(std::string_view text, uint64_t hash) const {
  size_t place = hash & (places_.size() - 1);
  while (places_[place] != 0 && (*texts_)[places_[place]] != text) {
    place = (place + 1) & (places_.size() - 1);
  }
  return place;
}

void TextTable::grow() {
  places_.assign(places_.size() * 2, 0);
  for (uint32_t i = 1; i < texts_->size(); ++i) {
    const std::string& text = (*texts_)[i];
    places_[place_of(text, hash_of(text))] = i;
  }
}

}  // namespace sampan::recording
