// A directory of what is to be pushed, in the order in which it came. Several sampan may add to it
// and one at a time, its owner, takes from it; what one leaves the next finds.
//
//   NAME.segment/    a recording, and the labels that it will have: not yet in the store's format
//   NAME.piece       the same in that format (piece.h)
//   refused/         what the store does not want, or cannot be read
//   lock             held by the owner
//
// NAMEs begin with the time and sort by it. Everything is written under another name, brought to
// the disk, and renamed: it is there whole, or not at all. A piece replaces its segment of that
// name.
//
// Errors: throws Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "push/labels.h"
#include "push/piece.h"
#include "sampler/file_descriptor.h"

namespace sampan::push {

class Spool {
 public:
  struct Item {
    std::string name;
    bool is_piece = false;
    uint64_t bytes = 0;
  };
  struct Sum {
    size_t items = 0;
    uint64_t bytes = 0;
  };

  // Makes the directory, for this user only.
  explicit Spool(std::string directory);
  const std::string& directory() const { return directory_; }

  // A recording, which stays where it is: linked, a matter of microseconds; false where the spool
  // is on another file system, say, so that it has to be copied.
  bool link(const std::string& recording, const Labels& labels);
  void copy(const std::string& recording, const Labels& labels);

  // In order.
  std::vector<Item> items() const;
  Sum waiting() const;

  // Tries to become the owner; the rest is for the owner only.
  bool own();
  void disown() { lock_.reset(); }

  std::string recording_of(const Item& segment) const;
  Labels labels_of(const Item& segment) const;
  // For a file beside the others that is gone when somebody becomes the owner.
  std::string scratch() const { return directory_ + "/.scratch.tmp"; }
  void replace(const Item& segment, const Piece& piece);
  Piece read(const Item& piece) const;
  void remove(const Item& item);
  void set_aside(const Item& item);
  // All that was set aside is to be pushed again.
  void restore();
  struct Trimmed {
    Sum refused, dropped;
  };
  // Removes the oldest until no more than so many bytes are left: what was set aside first.
  Trimmed trim(uint64_t most_bytes);

 private:
  template <typename Put>
  void add(const Labels& labels, Put&& put);
  std::string path_of(const Item& item) const;
  std::vector<Item> items_in(const std::string& directory) const;
  void clean();

  std::string directory_;
  std::string refused_;
  sampler::FileDescriptor lock_;
};

}  // namespace sampan::push
