// A directory with everything that is to be pushed, in order of arrival. Several processes may add to
// it; one at a time, its owner, takes from it. What one process leaves, the next one finds.
//
//   NAME.segment/    a recording with its labels, not yet in the store's format
//   NAME.piece       the same in the store's format (piece.h)
//   refused/         pieces that the store refused, and files that cannot be read
//   lock             held by the owner
//
// NAMEs begin with the time and sort by it. Everything is written under a temporary name, synced,
// and renamed, so it is there completely or not at all. A piece replaces the segment of its name.
//
// Errors: throws Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "remote/push/labels.h"
#include "remote/push/piece.h"

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

  // Creates the directory, readable by this user only.
  explicit Spool(std::string directory);
  const std::string& directory() const { return directory_; }

  // Adds a recording as a hard link, which takes microseconds. Returns false if it must be copied,
  // because the spool is on another file system.
  bool link(const std::string& recording, const Labels& labels);
  void copy(const std::string& recording, const Labels& labels);

  // In order.
  std::vector<Item> items() const;
  Sum waiting() const;

  // Tries to become the owner. Everything below is for the owner only.
  bool own();
  void disown() { lock_.reset(); }

  std::string recording_of(const Item& segment) const;
  Labels labels_of(const Item& segment) const;
  // The path of a temporary file; the next owner deletes it.
  std::string scratch() const { return directory_ + "/.scratch.tmp"; }
  void replace(const Item& segment, const Piece& piece);
  Piece read(const Item& piece) const;
  void remove(const Item& item);
  void set_aside(const Item& item);
  // Queues everything that was set aside again.
  void restore();
  struct Trimmed {
    Sum refused, dropped;
  };
  // Deletes the oldest items until at most this many bytes are left; refused ones first.
  Trimmed trim(uint64_t most_bytes);

 private:
  template <typename Put>
  void add(const Labels& labels, Put&& put);
  std::string path_of(const Item& item) const;
  std::vector<Item> items_in(const std::string& directory) const;
  void clean();

  std::string directory_;
  std::string refused_;
  FileDescriptor lock_;
};

}  // namespace sampan::push
