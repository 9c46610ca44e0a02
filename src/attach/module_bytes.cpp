#include "attach/module_bytes.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace sampan::attach {

ModuleBytes bytes_of_file(std::shared_ptr<sampler::FileDescriptor> file) {
  return [file = std::move(file)](uint64_t offset, std::span<uint8_t> buffer) {
    size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t size = pread(file->get(), buffer.data() + done, buffer.size() - done,
                                 static_cast<off_t>(offset + done));
      if (size <= 0) break;
      done += static_cast<size_t>(size);
    }
    return done;
  };
}

ModuleBytes bytes_of_process(pid_t pid, std::vector<MappedPart> parts) {
  return [pid, parts = std::move(parts)](uint64_t offset, std::span<uint8_t> buffer) -> size_t {
    for (const MappedPart& part : parts) {
      if (offset - part.offset >= part.size) continue;
      const uint64_t skipped = offset - part.offset;
      const size_t size = std::min<uint64_t>(buffer.size(), part.size - skipped);
      return read_process(pid, part.start + skipped, buffer.data(), size);
    }
    return 0;
  };
}

size_t read_process(pid_t pid, uint64_t avma, void* buffer, size_t size) {
  const iovec local{buffer, size};
  const iovec remote{reinterpret_cast<void*>(avma), size};
  const ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  return done < 0 ? 0 : static_cast<size_t>(done);
}

}  // namespace sampan::attach
