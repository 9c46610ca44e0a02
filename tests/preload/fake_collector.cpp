#include "fake_collector.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/byte_cursor.h"
#include "wire/marker_lane.h"
#include "wire/session.h"

namespace sampan::preload::test {
namespace {

using wire::RecordType;

// Drains the rings of one process.
class Joined {
 public:
  Joined(int memfd, const ucred& peer, const wire::Hello& hello) : shape_{hello.slots, true} {
    base_ = mmap(nullptr, shape_.size(), PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    if (base_ == MAP_FAILED) abort();
    wire::control_block(base_)->enabled.store(1);
    process_ = {&wire::control_block(base_)->process_ring, wire::process_ring_buffer(base_)};
    for (uint32_t i = 0; i < wire::kLaneCount; ++i) {
      lanes_.emplace_back().reader = {wire::lane_positions(base_, shape_.slots, i),
                                      wire::lane_cells(base_, shape_.slots, i)};
    }
    records.pid = peer.pid;
    records.parent_pid = hello.parent_pid;
    records.forked = hello.forked != 0;
  }
  ~Joined() { munmap(base_, shape_.size()); }
  Joined(const Joined&) = delete;

  void drain() {
    wire::RingReader::Record record;
    const uint64_t limit = process_.head();
    while (process_.next(limit, record)) read_process_record(record);
    const uint32_t used = wire::control_block(base_)->slots_used.load();
    while (rings_.size() < used) {
      const auto slot = static_cast<uint32_t>(rings_.size());
      rings_.push_back(
          {{&wire::thread_slot(base_, slot)->ring, wire::thread_ring_buffer(base_, slot)},
           SIZE_MAX,
           {}});
    }
    for (Ring& ring : rings_) {
      const uint64_t end = ring.reader.head();
      while (ring.reader.next(end, record)) read_thread_record(ring, record);
    }
    for (Lane& lane : lanes_) {
      const uint64_t end = lane.reader.head();
      drain_lane(lane.reader, end);
      if (!lane.reader.blocked(end)) lane.blocked = 0;
      if (++lane.blocked > kHoleRounds) lane.reader.step_over_hole(end, false);
    }
  }

  void answer(wire::Outside answer) {
    auto& word = wire::control_block(base_)->outside;
    wire::Outside wish = word.load();
    if (wish != wire::Outside::kImage && wish != wire::Outside::kChildren) return;
    ++records.wishes;
    word.compare_exchange_strong(wish, answer);
  }
  void set_heap_mean(uint64_t mean) { wire::control_block(base_)->heap_mean.store(mean); }
  void set_rate(uint32_t rate_hz) { wire::control_block(base_)->rate_hz.store(rate_hz); }
  bool has_used(uint64_t cpu_ns) const {
    for (const ThreadRecords& thread : records.threads) {
      if (!thread.samples.empty() && thread.samples.back().cpu_ns >= cpu_ns) return true;
    }
    return false;
  }

  ProcessRecords& finish() {
    drain();
    for (Lane& lane : lanes_) finish_lane(lane.reader);
    for (uint32_t slot = 0; slot < rings_.size(); ++slot) {
      records.clock_rates.push_back(wire::thread_slot(base_, slot)->rate_hz.load());
      records.handler_ns += wire::thread_slot(base_, slot)->handler_ns.load();
      records.timer_signals += wire::thread_slot(base_, slot)->timer_signals.load();
      records.perf_signals += wire::thread_slot(base_, slot)->perf_signals.load();
      for (const wire::OpenSpan& span : wire::thread_slot(base_, slot)->open.spans) {
        if (span.id.load() != 0) records.open_spans.push_back(span.id.load());
      }
    }
    records.interned_names = wire::marker_names(base_, shape_.slots)->count.load();
    wire::late_frees(base_, shape_.slots)->take([&](uint64_t id) {
      records.late_frees.push_back(id);
    });
    const wire::ControlBlock* control = wire::control_block(base_);
    for (unsigned i = 0; i < wire::kLossCount; ++i) records.losses[i] = control->losses[i].load();
    records.corrupt = process_.corrupt();
    for (const Ring& ring : rings_) records.corrupt += ring.reader.corrupt();
    return records;
  }

  ProcessRecords records;

 private:
  struct Ring {
    wire::RingReader reader;
    size_t thread;
    std::vector<uint64_t> previous;
  };

  // Rounds that a record may take until it is published.
  static constexpr unsigned kHoleRounds = 4;
  struct Lane {
    wire::LaneReader reader;
    unsigned blocked = 0;
  };

  static std::string rest(ByteCursor& cursor) {
    const auto bytes = cursor.take(cursor.remaining());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  static std::string name(ByteCursor& cursor, size_t size) {
    const auto bytes = cursor.take(size);
    const char* text = reinterpret_cast<const char*>(bytes.data());
    return {text, strnlen(text, bytes.size())};
  }

  void drain_lane(wire::LaneReader& lane, uint64_t limit) {
    wire::LaneReader::Marker marker;
    while (lane.next(limit, marker)) {
      const wire::MarkerRecord& record = marker.record;
      MarkerSeen seen{static_cast<wire::MarkerType>(record.type),
                      record.flags,
                      record.tid,
                      {marker.name.begin(), marker.name.end()},
                      {marker.text.begin(), marker.text.end()},
                      {}};
      std::copy_n(record.value, 5, seen.value);
      if (record.name != wire::kInlineName) {
        const wire::MarkerNames* names = wire::marker_names(base_, shape_.slots);
        if (record.name >= names->count.load()) abort();
        const auto entry = names->entries[record.name];
        seen.name.assign(reinterpret_cast<const char*>(names->text) + entry.offset, entry.size);
      }
      records.markers.push_back(std::move(seen));
    }
  }

  void finish_lane(wire::LaneReader& lane) {
    const uint64_t limit = lane.head();
    drain_lane(lane, limit);
    while (lane.blocked(limit)) {
      lane.step_over_hole(limit, true);
      drain_lane(lane, limit);
    }
    records.marker_holes += lane.holes();
    records.markers_dropped += lane.dropped();
    records.corrupt += lane.corrupt();
  }

  void read_process_record(const wire::RingReader::Record& record) {
    ByteCursor cursor(record.payload);
    cursor.u64();  // time
    switch (static_cast<RecordType>(record.type)) {
      case RecordType::kModuleLoad: {
        ModuleRecord module{cursor.u64(), cursor.u64(), cursor.u64(), {}, {}};
        const auto id = cursor.take(cursor.u8());
        module.build_id.assign(id.begin(), id.end());
        module.path = rest(cursor);
        records.modules.push_back(module);
        break;
      }
      case RecordType::kModuleUnload: ++records.unloads; break;
      case RecordType::kThreadName: {
        const auto tid = static_cast<int32_t>(cursor.u32());
        records.names.emplace_back(tid, name(cursor, wire::kLongNameSize));
        break;
      }
      case RecordType::kThreadCpu: {
        const auto tid = static_cast<int32_t>(cursor.u32());
        records.thread_cpu[tid] = cursor.u64();
        break;
      }
      case RecordType::kExec: records.execs.push_back(rest(cursor)); break;
      case RecordType::kExecFailed: ++records.failed_execs; break;
      case RecordType::kExit: records.exits.push_back(static_cast<int32_t>(cursor.u32())); break;
      default: ++records.corrupt;
    }
  }

  void read_thread_record(Ring& ring, const wire::RingReader::Record& record) {
    ByteCursor cursor(record.payload);
    if (static_cast<RecordType>(record.type) == RecordType::kThreadStart) {
      ThreadRecords thread;
      thread.tid = static_cast<int32_t>(cursor.u32());
      cursor.u64();
      thread.start_cpu_ns = cursor.u64();
      thread.first_name = name(cursor, wire::kThreadNameSize);
      ring.thread = records.threads.size();
      ring.previous.clear();
      records.threads.push_back(thread);
      return;
    }
    if (ring.thread >= records.threads.size()) {
      ++records.corrupt;
      return;
    }
    ThreadRecords& thread = records.threads[ring.thread];
    if (static_cast<RecordType>(record.type) == RecordType::kThreadEnd) {
      cursor.u64();
      thread.ended = true;
      thread.end_cpu_ns = cursor.u64();
      return;
    }
    switch (static_cast<RecordType>(record.type)) {
      case RecordType::kSample: {
        SampleRecord sample{};
        sample.time_ns = cursor.u64();
        sample.cpu_ns = cursor.u64();
        sample.ticks = cursor.u16();
        sample.stop = static_cast<wire::StopReason>(cursor.u8());
        sample.flags = cursor.u8();
        if ((sample.flags & wire::kSampleAfterGap) != 0) sample.left_out_ns = cursor.u64();
        if (read_stack(ring, cursor, sample.frames)) thread.samples.push_back(std::move(sample));
        break;
      }
      case RecordType::kAllocation: {
        cursor.u64();
        AllocationRecord allocation{};
        allocation.tid = thread.tid;
        allocation.id = cursor.u64();
        allocation.size = cursor.u64();
        allocation.mean = cursor.u64();
        allocation.kind = static_cast<wire::AllocationKind>(cursor.u8());
        allocation.stop = static_cast<wire::StopReason>(cursor.u8());
        if (read_stack(ring, cursor, allocation.frames)) {
          records.allocations.push_back(std::move(allocation));
        }
        break;
      }
      case RecordType::kFree: {
        cursor.u64();
        FreeRecord freed{};
        freed.tid = thread.tid;
        freed.id = cursor.u64();
        freed.stop = static_cast<wire::StopReason>(cursor.u8());
        if (read_stack(ring, cursor, freed.frames)) records.frees.push_back(std::move(freed));
        break;
      }
      default: ++records.corrupt;
    }
  }

  // What differs from the stack before, up to the end of the record.
  bool read_stack(Ring& ring, ByteCursor& cursor, std::vector<uint64_t>& frames) {
    const uint64_t shared = cursor.uleb();
    const uint64_t fresh = cursor.uleb();
    uint64_t frame = 0;
    for (uint64_t i = 0; i < fresh && cursor.ok(); ++i) {
      frame += static_cast<uint64_t>(cursor.zigzag());
      frames.push_back(frame);
    }
    if (shared > ring.previous.size() || !cursor.ok() || !cursor.at_end()) {
      ++records.corrupt;
      return false;
    }
    frames.insert(frames.end(), ring.previous.end() - static_cast<long>(shared),
                  ring.previous.end());
    ring.previous = frames;
    return true;
  }

  wire::MemoryShape shape_;
  void* base_;
  wire::RingReader process_;
  std::vector<Ring> rings_;
  std::vector<Lane> lanes_;
};

int listen_at(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name.data(), name.size());
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) != 0 ||
      listen(fd, 64) != 0) {
    abort();
  }
  return fd;
}

// The state of /proc/PID/stat; 0: it is gone.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(") ");
  return end == std::string::npos ? '\0' : text[end + 2];
}

// Keeps the process waiting for a while.
void see_off(int fd, pid_t pid, std::vector<std::unique_ptr<Joined>>& joined) {
  for (auto& process : joined) {
    if (process->records.pid != pid) continue;
    process->drain();
    ++process->records.goodbyes;
    process->records.exits_at_goodbye = process->records.exits.size();
    usleep(100'000);
    const char state = state_of(pid);
    process->records.lived_at_goodbye = state != 'Z' && state != '\0';
  }
  close(fd);
}

std::unique_ptr<Joined> accept_one(int listener, const RunOptions& options,
                                   std::vector<std::unique_ptr<Joined>>& others) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  ucred peer{};
  socklen_t size = sizeof peer;
  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  wire::Hello hello{};
  if (recv(fd, &hello, sizeof hello, 0) != sizeof hello) {
    close(fd);
    return nullptr;
  }
  if (hello.ending != 0) {
    see_off(fd, peer.pid, others);
    return nullptr;
  }
  const int memfd = memfd_create("rings", MFD_CLOEXEC);
  if (ftruncate(memfd, static_cast<off_t>(wire::MemoryShape{hello.slots, true}.size())) != 0)
    abort();
  auto joined = std::make_unique<Joined>(memfd, peer, hello);
  joined->set_rate(options.rate_hz);
  joined->set_heap_mean(options.heap_mean);
  wire::Welcome welcome{.version = wire::kWireVersion,
                        .accepted = 1,
                        .follow = options.follow,
                        .perf = options.perf,
                        .waits_at_end = options.waits_at_end};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec data{&welcome, sizeof welcome};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &memfd, sizeof memfd);
  sendmsg(fd, &message, MSG_NOSIGNAL);
  close(memfd);
  close(fd);
  return joined;
}

pid_t spawn(const std::vector<std::string>& command, const RunOptions& options,
            const std::string& session, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  dup2(output, STDOUT_FILENO);
  if (options.shim) setenv("LD_PRELOAD", options.library, 1);
  setenv(wire::kEnvironmentEnable, "1", 1);
  setenv(wire::kEnvironmentSession, session.c_str(), 1);
  for (const std::string& variable : options.environment) {
    putenv(const_cast<char*>(variable.c_str()));
  }
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

const ThreadRecords* ProcessRecords::main_thread() const {
  for (const ThreadRecords& thread : threads) {
    if (thread.tid == pid) return &thread;
  }
  return nullptr;
}

size_t ProcessRecords::samples() const {
  size_t sum = 0;
  for (const ThreadRecords& thread : threads) sum += thread.samples.size();
  return sum;
}

RunResult run_with_shim(const std::vector<std::string>& command, const RunOptions& options) {
  char session[wire::kSessionNameSize + 1];
  snprintf(session, sizeof session, "sampan-%032x", static_cast<unsigned>(getpid()));
  const int listener = listen_at(session);
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) abort();
  const pid_t pid = spawn(command, options, session, output[1]);
  close(output[1]);
  RunResult result;
  std::vector<std::unique_ptr<Joined>> joined;
  // The pipe is open as long as the program or a child of it lives.
  for (bool open = true; open;) {
    pollfd events[2] = {{listener, POLLIN, 0}, {output[0], POLLIN, 0}};
    poll(events, 2, 5);
    if ((events[0].revents & POLLIN) != 0) {
      if (auto process = accept_one(listener, options, joined)) {
        joined.push_back(std::move(process));
      }
    }
    if (events[1].revents != 0) {
      char buffer[4096];
      const ssize_t size = read(output[0], buffer, sizeof buffer);
      if (size > 0) result.output.append(buffer, static_cast<size_t>(size));
      open = size > 0;
    }
    for (auto& process : joined) {
      process->drain();
      if (options.outside) process->answer(*options.outside);
      if (options.later_rate_hz != 0 && process->has_used(options.later_ns)) {
        process->set_rate(options.later_rate_hz);
      }
    }
  }
  waitpid(pid, &result.status, 0);
  for (auto& process : joined) result.processes.push_back(process->finish());
  close(output[0]);
  close(listener);
  return result;
}

}  // namespace sampan::preload::test
