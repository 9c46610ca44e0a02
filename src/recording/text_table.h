// Gives equal texts the same index in a list of texts: names of markers repeat millions of times.
// Index 0 is "". Takes eight bytes per text beside the texts themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::recording {

class TextTable {
 public:
  // `texts` grows by what is new, and outlives the table. It has been made by one, or is {""}.
  explicit TextTable(std::vector<std::string>* texts);

  uint32_t index(std::string_view text);
  // Forgets all texts but "".
  void clear();
  size_t bytes() const { return bytes_; }  // of the texts that this table has added

 private:
  size_t place_of(std::string_view text, uint64_t hash) const;
  void grow();

  std::vector<std::string>* texts_;
  size_t bytes_ = 0;
  std::vector<uint32_t> places_;  // indexes by hash, with linear probing; 0: free
};

}  // namespace sampan::recording
