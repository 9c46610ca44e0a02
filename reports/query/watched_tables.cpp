// Tables of what was drawn: allocations, and waits for locks. Each row says what it stands for, so sums
// of these columns are estimates without bias (profile/heap.h, profile/locks.h).
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/frames.h"
#include "profile/heap.h"
#include "profile/locks.h"
#include "profile/own_functions.h"
#include "reports/query/vector_table.h"

namespace sampan::reports {
namespace {

using profile::Block;
using profile::Lock;
using profile::LockWait;

// What the columns are made of.
struct WatchedSource {
  const profile::Profile& profile;
};

template <typename Row>
using WatchedFields = std::vector<Field<WatchedSource, Row>>;

Value time_or_null(SessionNs time_ns, SessionNs none) {
  return time_ns == none ? Value() : number(time_ns);
}

profile::LockSum sum_of(const LockWait& wait) {
  profile::LockSum sum;
  sum.add(wait);
  return sum;
}

WatchedFields<Block> allocation_fields() {
  return {
      {{"time_ns", "INTEGER", "when it was made; if it is earlier, when the recording began"},
       [](auto&, auto& of) -> Value { return number(of.time_ns); }},
      {{"is_earlier", "INTEGER", "1: it lived when the recording began"},
       [](auto&, auto& of) -> Value { return int64_t{of.earlier}; }},
      {{"kind", "TEXT", "heap, or mapping: anonymous memory of mmap"},
       [](auto&, auto& of) -> Value {
         return std::string_view(of.kind == wire::AllocationKind::kHeap ? "heap" : "mapping");
       }},
      {{"size", "INTEGER", "bytes that the program asked for"},
       [](auto&, auto& of) -> Value { return number(of.size); }},
      {{"bytes", "REAL", "the bytes that it stands for"},
       [](auto&, auto& of) -> Value { return profile::drawn(of).bytes; }},
      {{"blocks", "REAL", "the blocks that it stands for"},
       [](auto&, auto& of) -> Value { return profile::drawn(of).blocks; }},
      {{"thread", "INTEGER", "row of threads"},
       [](auto&, auto& of) -> Value { return row(of.thread); }},
      {{"function", "INTEGER", "row of functions: that allocated it"},
       [](auto& source, auto& of) -> Value {
         return row(profile::own_function(source.profile, of.stack));
       }},
      {{"stack", "INTEGER", "its rows in frames"},
       [](auto&, auto& of) -> Value { return row(of.stack); }},
      {{"freed_ns", "INTEGER", "when it was freed"},
       [](auto&, auto& of) -> Value { return time_or_null(of.freed_ns, UINT64_MAX); }},
      {{"freeing_thread", "INTEGER", "row of threads: that freed it"},
       [](auto&, auto& of) -> Value { return row(of.freeing_thread); }},
      {{"freeing_function", "INTEGER", "row of functions: that freed it"},
       [](auto& source, auto& of) -> Value {
         return row(profile::own_function(source.profile, of.freeing_stack));
       }},
      {{"freeing_stack", "INTEGER", "its rows in frames"},
       [](auto&, auto& of) -> Value { return row(of.freeing_stack); }},
  };
}

WatchedFields<Lock> lock_fields() {
  return {
      {{"name", "TEXT", "of its variable; else its address, and the function that made it"},
       [](auto& source, auto& of) -> Value {
         const auto index = static_cast<uint32_t>(&of - source.profile.locks.data());
         return profile::lock_name(source.profile, index);
       }},
      {{"kind", "TEXT", "mutex, write lock, condition, semaphore, barrier, spin lock"},
       [](auto&, auto& of) -> Value { return profile::kind_name(of.kind); }},
      {{"address", "INTEGER", "in memory"},
       [](auto&, auto& of) -> Value { return number(of.address); }},
      {{"process", "INTEGER", "row of processes"},
       [](auto&, auto& of) -> Value { return row(of.process); }},
  };
}

// Functions are those of `report --locks`: of the innermost frame outside the C and C++ libraries.
WatchedFields<LockWait> lock_wait_fields() {
  return {
      {{"begin_ns", "INTEGER", "when it began"},
       [](auto&, auto& of) -> Value { return number(of.begin_ns); }},
      {{"duration_ns", "INTEGER", "how long it was"},
       [](auto&, auto& of) -> Value { return number(of.duration_ns); }},
      {{"waited_ns", "REAL", "the time of waits that it stands for"},
       [](auto&, auto& of) -> Value { return sum_of(of).waited_ns; }},
      {{"waits", "REAL", "the waits that it stands for"},
       [](auto&, auto& of) -> Value { return sum_of(of).waits; }},
      {{"lock", "INTEGER", "row of locks"}, [](auto&, auto& of) -> Value { return row(of.lock); }},
      {{"kind", "TEXT", "as locks.kind; read lock, if it waited to read"},
       [](auto&, auto& of) -> Value { return profile::kind_name(of.kind); }},
      {{"thread", "INTEGER", "row of threads: that waited"},
       [](auto&, auto& of) -> Value { return row(of.thread); }},
      {{"function", "INTEGER", "row of functions: that waited"},
       [](auto& source, auto& of) -> Value {
         return row(profile::own_function(source.profile, of.stack));
       }},
      {{"stack", "INTEGER", "its rows in frames"},
       [](auto&, auto& of) -> Value { return row(of.stack); }},
      {{"holder", "INTEGER", "row of threads: that held the lock when it began"},
       [](auto&, auto& of) -> Value { return row(of.holder); }},
      {{"holder_function", "INTEGER", "row of functions: in which the holder released it"},
       [](auto& source, auto& of) -> Value {
         return row(profile::own_function(source.profile, of.holder_stack));
       }},
      {{"holder_stack", "INTEGER", "its rows in frames"},
       [](auto&, auto& of) -> Value { return row(of.holder_stack); }},
      {{"waker", "INTEGER", "row of threads: that ended the wait"},
       [](auto&, auto& of) -> Value { return row(of.waker); }},
      {{"waker_function", "INTEGER", "row of functions: that ended it"},
       [](auto& source, auto& of) -> Value {
         return row(profile::own_function(source.profile, of.waker_stack));
       }},
      {{"waker_stack", "INTEGER", "its rows in frames"},
       [](auto&, auto& of) -> Value { return row(of.waker_stack); }},
      {{"woken_ns", "INTEGER", "when it was ended"},
       [](auto&, auto& of) -> Value { return time_or_null(of.woken_ns, 0); }},
  };
}

}  // namespace

std::vector<std::unique_ptr<QueryTable>> watched_tables(const profile::Profile& profile) {
  const auto source = std::make_shared<const WatchedSource>(WatchedSource{profile});
  std::vector<std::unique_ptr<QueryTable>> tables;
  tables.push_back(std::make_unique<VectorTable<WatchedSource, Block>>(
      "allocations", "the allocations that were drawn, by time", source, profile.blocks,
      allocation_fields()));
  tables.push_back(std::make_unique<VectorTable<WatchedSource, Lock>>(
      "locks", "what threads waited for in the C library", source, profile.locks, lock_fields()));
  tables.push_back(std::make_unique<VectorTable<WatchedSource, LockWait>>(
      "lock_waits", "the waits for locks that were drawn, by their ends", source,
      profile.lock_waits, lock_wait_fields()));
  return tables;
}

}  // namespace sampan::reports
