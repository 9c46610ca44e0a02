// Works for requests with known ids, each in a function of its own.
//
//   traced otel LIBRARY                  the ids are published by otel_writer.cpp: in LIBRARY, or ("") linked
//   traced set                           by sampan_context
//   traced hostile LIBRARY               records that are none, one after another, then one that is whole
//   traced section TRACEPARENT TRACESTATE
//   traced front | traced back           two services of one request
//
// Prints the CPU of each function, as "cpu NAME SECONDS".
#include <dlfcn.h>
#include <pthread.h>
#include <sampan/markers.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "work.h"

extern "C" __attribute__((weak)) void otel_publish(const void* record);

namespace {

struct Ids {
  uint8_t trace[16];
  uint8_t span[8];
};
constexpr Ids kAlpha = {{0xa1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                        {0xa1, 0, 0, 0, 0, 0, 0, 1}};
constexpr Ids kBeta = {{0xb2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                       {0xb2, 0, 0, 0, 0, 0, 0, 2}};
constexpr Ids kBack = {{0xa1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                       {0xa1, 0, 0, 0, 0, 0, 0, 9}};

struct __attribute__((packed, aligned(2))) Record {
  uint8_t trace[16];
  uint8_t span[8];
  uint8_t valid;
  uint8_t flags;
  uint16_t attributes_size;
};
static_assert(sizeof(Record) == 28);

Record record_of(const Ids& ids) {
  Record record{{}, {}, 1, 1, 0};
  std::memcpy(record.trace, ids.trace, sizeof record.trace);
  std::memcpy(record.span, ids.span, sizeof record.span);
  return record;
}

using Publish = void (*)(const void*);

Publish find_publish(const char* library) {
  if (*library == '\0') return otel_publish;
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return reinterpret_cast<Publish>(dlsym(handle, "otel_publish"));
}

// Like work::burn, with all of its code in one function.
#define WORK_FOR(name, seed)                                                 \
  __attribute__((noinline)) double work_for_##name(double seconds) {         \
    const double begin = work::thread_cpu();                                 \
    uint64_t value = seed;                                                   \
    while (work::thread_cpu() < begin + seconds) {                           \
      for (int i = 0; i < 20'000; ++i) value = value * 1664525 + 1013904223; \
    }                                                                        \
    return work::thread_cpu() - begin + (value == 0 ? 1e-12 : 0);            \
  }
WORK_FOR(alpha, 3)
WORK_FOR(beta, 5)
WORK_FOR(none, 7)

struct Sums {
  double alpha = 0, beta = 0, none = 0;
};

// `show`: what makes the context the thread's; null: none.
template <typename Show>
Sums work_in_turns(const Show& show) {
  Sums sums;
  for (int round = 0; round < 8; ++round) {
    show(&kAlpha);
    sums.alpha += work_for_alpha(0.06);
    show(&kBeta);
    sums.beta += work_for_beta(0.03);
    show(nullptr);
    sums.none += work_for_none(0.02);
  }
  return sums;
}

// Each context has a record of its own on the heap, which is gone after it.
Sums work_by_otel(Publish publish) {
  Record* record = nullptr;
  return work_in_turns([&](const Ids* ids) {
    publish(nullptr);
    delete record;
    record = ids == nullptr ? nullptr : new Record(record_of(*ids));
    publish(record);
  });
}

Sums work_by_markers() {
  return work_in_turns([](const Ids* ids) {
    ids == nullptr ? sampan_context_clear() : sampan_context(ids->trace, ids->span);
  });
}

// The same in the main thread and in one that begins later.
template <typename Work>
void work_in_two_threads(Work work) {
  struct Argument {
    Work work;
    Sums sums;
  } argument{work, {}};
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void* of) -> void* {
        auto& own = *static_cast<Argument*>(of);
        own.sums = own.work();
        return nullptr;
      },
      &argument);
  const Sums here = work();
  pthread_join(thread, nullptr);
  std::printf("cpu alpha %.6f\ncpu beta %.6f\ncpu none %.6f\n", here.alpha + argument.sums.alpha,
              here.beta + argument.sums.beta, here.none + argument.sums.none);
}

void work_for_hostile(Publish publish) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto map = [&](int protection) {
    return static_cast<uint8_t*>(
        mmap(nullptr, 2 * page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  };
  uint8_t* const readable = map(PROT_READ | PROT_WRITE);
  uint8_t* const gone = map(PROT_READ | PROT_WRITE);
  uint8_t* const forbidden = map(PROT_NONE);
  const Record whole = record_of(kBeta);
  Record half = whole, other = whole, no_trace = whole;
  half.valid = 0;
  other.valid = 2;
  std::memset(no_trace.trace, 0, sizeof no_trace.trace);
  std::memcpy(readable + page - sizeof whole / 2, &whole, sizeof whole);
  munmap(readable + page, page);
  std::memcpy(gone, &whole, sizeof whole);
  uint8_t shifted[sizeof whole + 1];
  std::memcpy(shifted + 1, &whole, sizeof whole);
  const auto at = [](uint64_t avma) { return reinterpret_cast<const void*>(avma); };
  double none = 0;
  for (const void* record :
       {at(8), at(0xdead'beef'0000), at(0x8000'0000'0000'0000), at(UINT64_MAX - 27),
        at(UINT64_MAX - 1), at(0x7fff'ffff'fff8),
        static_cast<const void*>(readable + page - sizeof whole / 2),
        static_cast<const void*>(forbidden),
        static_cast<const void*>(shifted + (reinterpret_cast<uint64_t>(shifted) % 2 == 0)),
        static_cast<const void*>(&half), static_cast<const void*>(&other),
        static_cast<const void*>(&no_trace)}) {
    publish(record);
    none += work_for_none(0.03);
  }
  // Read before, and then it is gone while it is published.
  publish(gone);
  const double beta = work_for_beta(0.1);
  munmap(gone, 2 * page);
  none += work_for_none(0.1);
  Record last = record_of(kAlpha);
  last.attributes_size = UINT16_MAX;  // far more than there is
  publish(&last);
  const double alpha = work_for_alpha(0.2);
  publish(nullptr);
  std::printf("cpu alpha %.6f\ncpu beta %.6f\ncpu none %.6f\n", alpha, beta, none);
}

void work_in_section(const char* traceparent, const char* tracestate) {
  const double before = work_for_none(0.1);
  const int begun = sampan_trace_section_start("request", traceparent, tracestate);
  const double alpha = work_for_alpha(0.2);
  if (begun != 0) sampan_thread_section_stop("request");
  const double after = work_for_none(0.1);
  std::printf("begun %d\ncpu alpha %.6f\ncpu none %.6f\n", begun, alpha, before + after);
}

void sleep_for(double seconds) {
  timespec left{static_cast<time_t>(seconds),
                static_cast<long>(1e9 * (seconds - static_cast<time_t>(seconds)))};
  while (nanosleep(&left, &left) != 0) {
  }
}

void serve(const Ids& ids, const uint8_t* caller, const char* name) {
  sampan_context_child(ids.trace, ids.span, caller);
  {
    sampan::Span span{name};
    const double alpha = work_for_alpha(0.3);
    sleep_for(0.4);
    std::printf("cpu alpha %.6f\n", alpha);
  }
  sampan_context_clear();
  std::printf("cpu none %.6f\n", work_for_none(0.1));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "otel" && argc == 3) {
    const Publish publish = find_publish(argv[2]);
    work_in_two_threads([publish] { return work_by_otel(publish); });
  } else if (mode == "set") {
    work_in_two_threads([] { return work_by_markers(); });
  } else if (mode == "hostile" && argc == 3) {
    work_for_hostile(find_publish(argv[2]));
  } else if (mode == "section" && argc == 4) {
    work_in_section(argv[2], argv[3]);
  } else if (mode == "front") {
    serve(kAlpha, nullptr, "ask");
  } else if (mode == "back") {
    serve(kBack, kAlpha.span, "answer");
  } else {
    return 2;
  }
}
