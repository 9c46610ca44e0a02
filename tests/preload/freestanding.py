"""The shim is a guest in every target: nothing but what is listed here may be asked of the C library.

freestanding.py SHIM OBJECT...   the objects are those that run in the signal handler
"""
import subprocess
import sys

# What the handler's objects may reach outside the shim: async-signal-safe, and without a lock.
HANDLER_ALLOWED = {
    'clock_gettime', 'memcpy', 'memmove', 'memset', 'memcmp', 'strlen', 'strcpy', 'stpcpy',
    '__errno_location', 'pthread_self',
    '_dl_find_object', '_GLOBAL_OFFSET_TABLE_',
    # In the same files, but in ordinary context only: preparations.
    'clock_getres', 'dl_iterate_phdr', 'mmap', 'mmap64', 'munmap',
}
FORBIDDEN_PREFIXES = ('_ZNSt', '_ZSt', '_Zn', '_Zd', '__cxa_', '__gxx', '_Unwind_')
FORBIDDEN = {'malloc', 'calloc', 'realloc', 'free', 'printf', 'fprintf', 'snprintf', 'abort',
             '__stack_chk_fail', '__assert_fail', 'pthread_getattr_np'}
FORBIDDEN_ALLOWED = {'__cxa_finalize'}  # the weak one of every shared library's start files
INTERPOSED = ('pthread_create', 'dlopen', 'dlclose', 'execve', 'sigaction', '_exit', 'prctl')


def symbols(option, *files):
    """Names and types by nm."""
    output = subprocess.run(['nm', *option, *files], check=True, capture_output=True, text=True)
    for line in output.stdout.splitlines():
        words = line.split()
        if len(words) >= 2 and not line.endswith(':'):
            yield words[-1].split('@')[0], words[-2]


def main():
    shim, *objects = sys.argv[1:]
    wrong = []
    for name, _ in symbols(['-D', '--undefined-only'], shim):
        if name in FORBIDDEN_ALLOWED:
            continue
        if name in FORBIDDEN or name.startswith(FORBIDDEN_PREFIXES):
            wrong.append(f'{shim} imports {name}')
    exported = {name for name, _ in symbols(['-D', '--defined-only'], shim)}
    wrong += [f'{shim} does not export {name}' for name in INTERPOSED if name not in exported]
    wrong += [f'{shim} exports {name}' for name in exported if name.startswith('_Z')]
    needed = subprocess.run(['readelf', '-d', shim], check=True, capture_output=True, text=True)
    if 'libstdc++' in needed.stdout or 'libgcc_s' in needed.stdout:
        wrong.append(f'{shim} needs a C++ runtime')

    defined = {name for name, _ in symbols(['--defined-only'], *objects)}
    for name, _ in symbols(['--undefined-only'], *objects):
        if not (name in defined or name in HANDLER_ALLOWED or name.startswith('_ZN6sampan')):
            wrong.append(f'the handler reaches {name}')
    print('\n'.join(wrong) or f'{len(exported)} functions exported, {len(objects)} handler objects')
    return 1 if wrong or not objects else 0


sys.exit(main())
