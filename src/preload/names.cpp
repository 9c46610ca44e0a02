#include "preload/names.h"

#include <pthread.h>
#include <string.h>

#include "base/byte_writer.h"
#include "preload/interpose.h"
#include "preload/process.h"
#include "preload/process_ring.h"
#include "preload/threads.h"
#include "wire/record.h"

namespace sampan::preload {

void record_thread_name(int32_t tid, const char* name) {
  char fixed[wire::kThreadNameSize] = {};
  memcpy(fixed, name, strnlen(name, sizeof fixed - 1));
  uint8_t buffer[sizeof tid + sizeof fixed];
  ByteWriter fields(buffer);
  fields.fixed(tid);
  fields.bytes(fixed, sizeof fixed);
  write_process_record(wire::RecordType::kThreadName, fields.written(), {},
                       wire::Loss::kNameRecord);
}

}  // namespace sampan::preload

SAMPAN_EXPORT int pthread_setname_np(pthread_t pthread, const char* name) noexcept {
  using namespace sampan::preload;
  const int result = SAMPAN_NEXT(pthread_setname_np)(pthread, name);
  if (result == 0 && active()) {
    if (const ThreadState* thread = thread_by_pthread(pthread)) {
      record_thread_name(thread->tid, name);
    }
  }
  return result;
}
