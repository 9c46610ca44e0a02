// The memory that the collector shares with one process of the target (wire/control_block.h):
// created here, sealed so that neither side can change its size, mapped by both.
#pragma once

#include "sampler/file_descriptor.h"

namespace sampan::sampler {

class SharedMemory {
 public:
  SharedMemory();  // throws Error when the kernel refuses
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  void* base() const { return base_; }
  int fd() const { return fd_.get(); }
  // Once the other side has its copy: the mapping stays.
  void close_fd() { fd_.reset(); }

 private:
  FileDescriptor fd_;
  void* base_ = nullptr;
};

}  // namespace sampan::sampler
