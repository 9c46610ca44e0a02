#include "sampler/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "wire/control_block.h"

namespace sampan::sampler {

SharedMemory::SharedMemory() : fd_(memfd_create("sampan", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (!fd_ || ftruncate(fd_.get(), wire::kSharedSize) != 0 ||
      fcntl(fd_.get(), F_ADD_SEALS, seals) != 0) {
    throw Error("creating the memory shared with the program: {}", std::strerror(errno));
  }
  base_ = mmap(nullptr, wire::kSharedSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
               fd_.get(), 0);
  if (base_ == MAP_FAILED) {
    throw Error("mapping the memory shared with the program: {}", std::strerror(errno));
  }
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), base_(std::exchange(other.base_, nullptr)) {}

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) munmap(base_, wire::kSharedSize);
}

}  // namespace sampan::sampler
