// dlopen, dlmopen and dlclose: modules come and go.
//
// dlopen depends on its caller: the caller's RUNPATH is part of the search path for a name without a
// slash. With the interposer in between, the shim would be the caller. So for a caller with a RUNPATH
// the search is done here, over the list that the loader gives for it.

#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <span>

#include "base/syscall.h"
#include "preload/modules/modules.h"
#include "preload/process/process.h"
#include "preload/python/interpreter.h"
#include "preload/samples/sample.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

link_map* module_of(void* code) {
  Dl_info info;
  void* module = nullptr;
  return dladdr1(code, &info, &module, RTLD_DL_LINKMAP) != 0 ? static_cast<link_map*>(module)
                                                             : nullptr;
}

bool has_own_search_path(const link_map& module) {
  for (const ElfW(Dyn)* entry = module.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH) return true;
  }
  return false;
}

// Finds `file` as `caller` would find it. False when the loader is to search.
bool find_for(link_map* caller, const char* file, std::span<char> path) {
  Dl_serinfo size;
  if (dlinfo(caller, RTLD_DI_SERINFOSIZE, &size) != 0) return false;
  auto* list = static_cast<Dl_serinfo*>(alloca(size.dls_size));
  *list = size;
  if (dlinfo(caller, RTLD_DI_SERINFO, list) != 0) return false;
  const size_t file_length = strlen(file);
  for (unsigned i = 0; i < list->dls_cnt; ++i) {
    const char* directory = list->dls_serpath[i].dls_name;
    const size_t length = strlen(directory);
    if (length + 1 + file_length + 1 > path.size()) continue;
    memcpy(path.data(), directory, length);
    path[length] = '/';
    memcpy(path.data() + length + 1, file, file_length + 1);
    if (raw_syscall(SYS_faccessat, AT_FDCWD, path.data(), R_OK) == 0) return true;
  }
  return false;
}

void* open_for(void* caller_code, const char* file, int mode) {
  auto* const original = SAMPAN_NEXT(dlopen);
  if (file != nullptr && strchr(file, '/') == nullptr) {
    link_map* caller = module_of(caller_code);
    if (caller != nullptr && has_own_search_path(*caller)) {
      // A library that is already loaded is found by its name alone.
      if (void* loaded = original(file, RTLD_LAZY | RTLD_NOLOAD)) {
        void* handle = original(file, mode);
        SAMPAN_NEXT(dlclose)(loaded);
        return handle;
      }
      char path[PATH_MAX];
      if (find_for(caller, file, path)) return original(path, mode);
    }
  }
  return original(file, mode);
}

// A walk takes microseconds, but its thread may have lost its CPU. A thread that is stopped for more
// than two seconds (a debugger) is not waited for.
constexpr unsigned kYields = 100;
constexpr unsigned kPauses = 2'000;
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};

std::atomic<unsigned> under_way;
thread_local unsigned under_way_here;

void wait_for_walk(const ThreadState& thread) {
  for (unsigned i = 0; i < kYields + kPauses; ++i) {
    if (!thread.samples.walking.load()) return;
    if (i < kYields) {
      raw_syscall(SYS_sched_yield);
    } else {
      raw_syscall(SYS_nanosleep, &kPause, nullptr);
    }
  }
}

// Used around a call that may unmap a module: no stack may be walked through it at that moment. While
// this exists, handlers walk with cached rows and read no module. The constructor waits for handlers
// that are reading one.
class Unloading {
 public:
  Unloading() {
    ++under_way;
    ++under_way_here;
    walker.begin_unload();
    for_each_thread([](ThreadState& thread) { wait_for_walk(thread); });
  }
  ~Unloading() {
    walker.end_unload();
    --under_way_here;
    --under_way;
  }
  Unloading(const Unloading&) = delete;
  Unloading& operator=(const Unloading&) = delete;
};

}  // namespace

void unloading_after_fork() {
  for (; under_way.load() > under_way_here; --under_way) walker.end_unload();
}

}  // namespace sampan::preload

SAMPAN_EXPORT void* dlopen(const char* file, int mode) noexcept {
  using namespace sampan::preload;
  void* handle = open_for(__builtin_return_address(0), file, mode);
  if (active()) renew_modules();
  return handle;
}

SAMPAN_EXPORT void* dlmopen(Lmid_t space, const char* file, int mode) noexcept {
  using namespace sampan::preload;
  void* handle = SAMPAN_NEXT(dlmopen)(space, file, mode);
  if (active()) renew_modules();
  return handle;
}

SAMPAN_EXPORT int dlclose(void* handle) noexcept {
  using namespace sampan::preload;
  if (!active()) return SAMPAN_NEXT(dlclose)(handle);
  int result = 0;
  {
    const Unloading unloading;
    result = SAMPAN_NEXT(dlclose)(handle);
    forget_unloaded_interpreter();
    renew_modules();
  }
  return result;
}
