// The shim's side of the shared memory, for tests: writes the records of wire/record.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/byte_writer.h"
#include "wire/control_block.h"
#include "wire/record.h"
#include "wire/ring.h"

namespace sampan::sampler {

using Bytes = std::vector<uint8_t>;

template <typename F>
Bytes payload(F&& write) {
  Bytes buffer(1 << 15);
  ByteWriter writer(buffer);
  write(writer);
  buffer.resize(writer.size());
  return buffer;
}

template <size_t kSize = wire::kThreadNameSize>
void write_name(ByteWriter& out, const std::string& name) {
  char bytes[kSize] = {};
  name.copy(bytes, sizeof bytes - 1);
  out.bytes(bytes, sizeof bytes);
}

inline Bytes thread_start(int32_t tid, uint64_t time, uint64_t cpu, const std::string& name) {
  return payload([&](ByteWriter& out) {
    out.fixed(tid);
    out.fixed(time);
    out.fixed(cpu);
    write_name(out, name);
  });
}

// `fresh`: lookup AVMAs, leaf first.
inline void write_stack(ByteWriter& out, uint64_t shared, const std::vector<uint64_t>& fresh) {
  out.uleb(shared);
  out.uleb(fresh.size());
  uint64_t before = 0;
  for (const uint64_t frame : fresh) {
    out.zigzag(static_cast<int64_t>(frame - before));
    before = frame;
  }
}

inline Bytes sample(uint64_t time, uint64_t cpu, uint16_t ticks, uint64_t shared,
                    const std::vector<uint64_t>& fresh, uint8_t stop = 0, uint64_t left_out = 0) {
  return payload([&](ByteWriter& out) {
    out.fixed(time);
    out.fixed(cpu);
    out.fixed(ticks);
    out.fixed(stop);
    out.fixed(left_out != 0 ? wire::kSampleAfterGap : uint8_t{0});
    if (left_out != 0) out.fixed(left_out);
    write_stack(out, shared, fresh);
  });
}

inline Bytes allocation(uint64_t time, uint64_t id, uint64_t size, uint64_t mean, uint8_t kind,
                        uint64_t shared, const std::vector<uint64_t>& fresh, uint8_t stop = 0) {
  return payload([&](ByteWriter& out) {
    for (const uint64_t number : {time, id, size, mean}) out.fixed(number);
    out.fixed(kind);
    out.fixed(stop);
    write_stack(out, shared, fresh);
  });
}

inline Bytes freed(uint64_t time, uint64_t id, uint64_t shared, const std::vector<uint64_t>& fresh,
                   uint8_t stop = 0) {
  return payload([&](ByteWriter& out) {
    out.fixed(time);
    out.fixed(id);
    out.fixed(stop);
    write_stack(out, shared, fresh);
  });
}

struct WaitFields {
  uint64_t begin, end, limit, lock;
  wire::LockKind kind;
  uint64_t first, last;
};
inline Bytes lock_wait(const WaitFields& wait, uint64_t shared,
                       const std::vector<uint64_t>& fresh) {
  return payload([&](ByteWriter& out) {
    for (const uint64_t value : {wait.begin, wait.end, wait.limit, wait.lock}) out.fixed(value);
    out.fixed(wait.kind);
    out.fixed(wait.first);
    out.fixed(wait.last);
    out.fixed(uint8_t{0});
    write_stack(out, shared, fresh);
  });
}

inline Bytes lock_release(uint64_t time, uint64_t number, uint64_t lock, uint64_t shared,
                          const std::vector<uint64_t>& fresh) {
  return payload([&](ByteWriter& out) {
    for (const uint64_t value : {time, number, lock}) out.fixed(value);
    out.fixed(uint8_t{0});
    write_stack(out, shared, fresh);
  });
}

inline Bytes lock_origin(uint64_t time, uint64_t lock, wire::LockKind kind, uint64_t caller) {
  return payload([&](ByteWriter& out) {
    out.fixed(time);
    out.fixed(lock);
    out.fixed(kind);
    out.fixed(caller);
  });
}

inline Bytes thread_end(uint64_t time, uint64_t cpu, uint64_t left_out = 0) {
  return payload([&](ByteWriter& out) {
    out.fixed(time);
    out.fixed(cpu);
    out.fixed(left_out);
  });
}

inline Bytes module_load(uint64_t time, uint64_t bias, uint64_t start, uint64_t end,
                         const std::string& path, const Bytes& build_id = {1, 2, 3}) {
  return payload([&](ByteWriter& out) {
    for (const uint64_t value : {time, bias, start, end}) out.fixed(value);
    out.fixed(static_cast<uint8_t>(build_id.size()));
    out.bytes(build_id.data(), build_id.size());
    out.bytes(path.data(), path.size());
  });
}

inline Bytes module_unload(uint64_t time, uint64_t bias, uint64_t start) {
  return payload([&](ByteWriter& out) {
    for (const uint64_t value : {time, bias, start}) out.fixed(value);
  });
}

inline Bytes thread_name(uint64_t time, int32_t tid, const std::string& name) {
  return payload([&](ByteWriter& out) {
    out.fixed(time);
    out.fixed(tid);
    write_name<wire::kLongNameSize>(out, name);
  });
}

inline Bytes thread_cpu(uint64_t time, int32_t tid, uint64_t cpu) {
  return payload([&](ByteWriter& out) {
    out.fixed(time);
    out.fixed(tid);
    out.fixed(cpu);
  });
}

inline Bytes exit_record(uint64_t time, int32_t status) {
  return payload([&](ByteWriter& out) {
    out.fixed(time);
    out.fixed(status);
  });
}

class FakeShim {
 public:
  explicit FakeShim(void* base) : base_(base) {}

  bool process(wire::RecordType type, const Bytes& record) {
    wire::RingWriter ring(&wire::control_block(base_)->process_ring,
                          wire::process_ring_buffer(base_));
    return put(ring, type, record);
  }
  bool thread(uint32_t slot, wire::RecordType type, const Bytes& record) {
    auto& used = wire::control_block(base_)->slots_used;
    if (used.load() <= slot) used.store(slot + 1);
    wire::RingWriter ring(&wire::thread_slot(base_, slot)->ring,
                          wire::thread_ring_buffer(base_, slot));
    return put(ring, type, record);
  }

 private:
  static bool put(wire::RingWriter& ring, wire::RecordType type, const Bytes& record) {
    const auto room = ring.begin(record.size());
    if (room.empty()) return false;
    std::memcpy(room.data(), record.data(), record.size());
    ring.commit(static_cast<uint8_t>(type), record.size());
    return true;
  }

  void* base_;
};

}  // namespace sampan::sampler
