// The program of `./dev dist` runs with glibc 2.17 and later, though it is linked on a newer system: what it and the
// libraries in it call is redirected to the versions of old, or to a substitute. The linker does this for every object
// (--wrap, for each name in an OLD or a WRAP below; meson.build reads them). The shim has its own header
// (preload/support, symbol_versions.h): nothing is linked into it. The versions named here are x86-64's.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#if defined(__aarch64__)
#include "cli/aarch64/old_versions.h"
#else
#include "cli/x86_64/old_versions.h"
#endif

// Calls of `function` go to `name`, version `version`.
#define OLD(function, name, version) \
  asm(".symver old_" #function ", " #name OLD_VERSION(version) "\n"           \
      ".globl __wrap_" #function "\n.type __wrap_" #function ", %function\n"   \
      "__wrap_" #function ": " OLD_JUMP(function))
// Calls of `function` go to the function that follows.
#define WRAP(function, ...) __wrap_##function(__VA_ARGS__)

asm(".text");
OLD(dladdr, dladdr, "2.2.5");
OLD(dlclose, dlclose, "2.2.5");
OLD(dlerror, dlerror, "2.2.5");
OLD(dlopen, dlopen, "2.2.5");
OLD(dlsym, dlsym, "2.2.5");
OLD(__pthread_key_create, __pthread_key_create, "2.2.5");
OLD(pthread_create, pthread_create, "2.2.5");
OLD(pthread_detach, pthread_detach, "2.2.5");
OLD(pthread_getspecific, pthread_getspecific, "2.2.5");
OLD(pthread_join, pthread_join, "2.2.5");
OLD(pthread_key_create, pthread_key_create, "2.2.5");
OLD(pthread_key_delete, pthread_key_delete, "2.2.5");
OLD(pthread_once, pthread_once, "2.2.5");
OLD(pthread_rwlock_destroy, pthread_rwlock_destroy, "2.2.5");
OLD(pthread_rwlock_init, pthread_rwlock_init, "2.2.5");
OLD(pthread_rwlock_rdlock, pthread_rwlock_rdlock, "2.2.5");
OLD(pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock, "2.2.5");
OLD(pthread_rwlock_unlock, pthread_rwlock_unlock, "2.2.5");
OLD(pthread_rwlock_wrlock, pthread_rwlock_wrlock, "2.2.5");
OLD(pthread_setspecific, pthread_setspecific, "2.2.5");
OLD(pthread_setname_np, pthread_setname_np, "2.12");
OLD(pthread_sigmask, pthread_sigmask, "2.2.5");
OLD(timer_create, timer_create, "2.3.3");
OLD(timer_delete, timer_delete, "2.3.3");
OLD(timer_settime, timer_settime, "2.3.3");
OLD(fcntl64, fcntl, "2.2.5");
OLD(exp, exp, "2.2.5");
OLD(lgamma, lgamma, "2.2.5");
OLD(log, log, "2.2.5");
OLD(pow, pow, "2.2.5");

extern "C" {

// As the start files of old: before 2.34 the library left it to the program to run its constructors.
using Start = int(int (*)(int, char**, char**), int, char**, void (*)(int, char**, char**),
                  void (*)(), void (*)(), void*);
Start old_libc_start_main;
asm(".symver old_libc_start_main, __libc_start_main" OLD_VERSION("2.2.5"));
using Constructor = void (*)(int, char**, char**);
extern const Constructor __preinit_array_start[] __attribute__((visibility("hidden")));
extern const Constructor __preinit_array_end[] __attribute__((visibility("hidden")));
extern const Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern const Constructor __init_array_end[] __attribute__((visibility("hidden")));
void _init();
static void construct(int argc, char** argv, char** environment) {
  for (const Constructor* each = __preinit_array_start; each != __preinit_array_end; ++each)
    (*each)(argc, argv, environment);
  _init();
  for (const Constructor* each = __init_array_start; each != __init_array_end; ++each)
    (*each)(argc, argv, environment);
}
int WRAP(__libc_start_main, int (*main)(int, char**, char**), int argc, char** argv,
         void (*)(int, char**, char**), void (*)(), void (*loader_end)(), void* stack_end) {
  return old_libc_start_main(main, argc, argv, construct, nullptr, loader_end, stack_end);
}

// The functions behind stat(2) and its like before 2.33.
int old_xstat(int, const char*, struct stat*);
int old_lxstat(int, const char*, struct stat*);
int old_fxstat(int, int, struct stat*);
int old_fxstatat(int, int, const char*, struct stat*, int);
asm(".symver old_xstat, __xstat" OLD_VERSION("2.2.5"));
asm(".symver old_lxstat, __lxstat" OLD_VERSION("2.2.5"));
asm(".symver old_fxstat, __fxstat" OLD_VERSION("2.2.5"));
asm(".symver old_fxstatat, __fxstatat" OLD_VERSION("2.4"));
int WRAP(stat, const char* path, struct stat* info) {
  return old_xstat(kStatVersion, path, info);
}
int WRAP(stat64, const char* path, struct stat* info) {
  return old_xstat(kStatVersion, path, info);
}
int WRAP(lstat, const char* path, struct stat* info) {
  return old_lxstat(kStatVersion, path, info);
}
int WRAP(lstat64, const char* path, struct stat* info) {
  return old_lxstat(kStatVersion, path, info);
}
int WRAP(fstat, int file, struct stat* info) {
  return old_fxstat(kStatVersion, file, info);
}
int WRAP(fstat64, int file, struct stat* info) {
  return old_fxstat(kStatVersion, file, info);
}
int WRAP(fstatat64, int folder, const char* path, struct stat* info, int flags) {
  return old_fxstatat(kStatVersion, folder, path, info, flags);
}

pid_t WRAP(gettid) {
  return static_cast<pid_t>(syscall(SYS_gettid));
}
ssize_t WRAP(getrandom, void* buffer, size_t size, unsigned flags) {
  return syscall(SYS_getrandom, buffer, size, flags);
}
int WRAP(memfd_create, const char* name, unsigned flags) {
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

// The deadline by the clock that all versions know; who waits looks at its own clock again when it has passed.
int WRAP(pthread_cond_clockwait, pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
         const timespec* deadline) {
  timespec now{}, real{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  const auto nanoseconds = [](const timespec& time) {
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  const int64_t until = nanoseconds(real) + nanoseconds(*deadline) - nanoseconds(now);
  const timespec at{.tv_sec = until / 1'000'000'000, .tv_nsec = until % 1'000'000'000};
  return pthread_cond_timedwait(condition, mutex, &at);
}

const char* WRAP(sigabbrev_np, int signal) {
  static constexpr const char* kNames[] = {
      nullptr, "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV",  "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU",  "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  return signal > 0 && signal < 32 ? kNames[signal] : nullptr;
}

// libstdc++ and libgcc call these for random words, to learn whether there are threads (yes is always right), and for
// the unwind table of the code at `pc`.
int WRAP(getentropy, void* buffer, size_t size) {
  return syscall(SYS_getrandom, buffer, size, 0) == static_cast<long>(size) ? 0 : -1;
}
uint32_t WRAP(arc4random) {
  uint32_t word = 0;
  if (__wrap_getentropy(&word, sizeof word) != 0) abort();
  return word;
}
char __wrap___libc_single_threaded = 0;  // WRAP(__libc_single_threaded)

static int find_table(dl_phdr_info* module, size_t, void* argument) {
  auto& found = *static_cast<dl_find_object*>(argument);
  const auto pc = reinterpret_cast<ElfW(Addr)>(found.dlfo_map_start);
  bool has_pc = false;
  void* table = nullptr;
  for (const ElfW(Phdr)* part = module->dlpi_phdr; part != module->dlpi_phdr + module->dlpi_phnum;
       ++part) {
    const ElfW(Addr) start = module->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && pc - start < part->p_memsz) has_pc = true;
    if (part->p_type == PT_GNU_EH_FRAME) table = reinterpret_cast<void*>(start);
  }
  if (has_pc) found.dlfo_eh_frame = table;
  return has_pc;
}
int WRAP(_dl_find_object, void* pc, dl_find_object* found) {
  *found = {};
  found->dlfo_map_start = pc;
  return dl_iterate_phdr(find_table, found) != 0 && found->dlfo_eh_frame != nullptr ? 0 : -1;
}

}  // extern "C"
