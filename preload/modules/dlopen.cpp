// dlopen, dlmopen and dlclose: modules come and go.
//
// dlopen looks at who calls it: the caller's RUNPATH belongs to the search path of a name without a
// slash. With the interposer in between, that would be ours, so where the caller has one, the
// search is done here, over the list that the loader itself gives for the caller.
#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <span>

#include "base/syscall.h"
#include "preload/interpose.h"
#include "preload/modules.h"
#include "preload/process.h"
#include "preload/unloading.h"

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

// `file` as `caller` would find it, in `path`; false when it is to be left to the loader.
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
    if (raw_syscall(SYS_access, path.data(), R_OK) == 0) return true;
  }
  return false;
}

void* open_for(void* caller_code, const char* file, int mode) {
  auto* const original = SAMPAN_NEXT(dlopen);
  if (file != nullptr && strchr(file, '/') == nullptr) {
    link_map* caller = module_of(caller_code);
    if (caller != nullptr && has_own_search_path(*caller)) {
      // One that is loaded already is found by its name alone.
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

}  // namespace
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
    renew_modules();
  }
  return result;
}
