"""The shim is a guest in every target: it asks nothing of a C++ runtime, nor of a new C library. freestanding.py SHIM

What its signal handler may reach is in handler_closure.py.
"""
import re
import subprocess
import sys

FORBIDDEN_PREFIXES = ('_ZNSt', '_ZSt', '_Zn', '_Zd', '__cxa_', '__gxx', '_Unwind_')
FORBIDDEN = {'malloc', 'calloc', 'realloc', 'free', 'printf', 'fprintf', 'snprintf', 'abort',
             '__stack_chk_fail', '__assert_fail', 'pthread_getattr_np'}
ALLOWED = {'__cxa_finalize'}  # weak, in the start files of every shared library
OLDEST_GLIBC = (2, 17)  # of the programs that it loads into
# The only C++ symbols: the wrappers of allocators define the operators, of every form.
OPERATOR = re.compile(r'_Z(n[wa]m|d[la]Pvm?)(St11align_val_t)?(RKSt9nothrow_t)?$')
INTERPOSED = ('pthread_create', '__gmon_start__', 'dlclose', 'execve', 'sigaction', '_exit', 'prctl')


def symbols(shim, option):
    output = subprocess.run(['nm', '-D', option, shim], check=True, capture_output=True, text=True)
    return {line.split()[-1].split('@')[0] for line in output.stdout.splitlines()}


def main():
    shim = sys.argv[1]
    imported, exported = symbols(shim, '--undefined-only'), symbols(shim, '--defined-only')
    wrong = [f'{shim} imports {name}' for name in imported - ALLOWED
             if name in FORBIDDEN or name.startswith(FORBIDDEN_PREFIXES)]
    wrong += [f'{shim} does not export {name}' for name in INTERPOSED if name not in exported]
    wrong += [f'{shim} exports {name}: the loader looks at who calls it'
              for name in ('dlopen', 'dlmopen', 'dlsym') if name in exported]
    wrong += [f'{shim} exports {name}' for name in exported
              if name.startswith('_Z') and not OPERATOR.match(name)]
    versions = subprocess.run(['readelf', '-VW', shim], check=True, capture_output=True, text=True).stdout
    asked = {tuple(map(int, found.split('.'))) for found in re.findall(r'Name: GLIBC_([\d.]+)', versions)}
    wrong += [f'{shim} needs glibc {version}' for version in asked if version > OLDEST_GLIBC]
    wrong += [] if asked else [f'{shim}: no versions of the C library in it']
    needed = subprocess.run(['readelf', '-d', shim], check=True, capture_output=True, text=True)
    if 'libstdc++' in needed.stdout or 'libgcc_s' in needed.stdout:
        wrong.append(f'{shim} needs a C++ runtime')
    print('\n'.join(wrong) or f'{len(exported)} functions exported')
    return 1 if wrong or not exported else 0


sys.exit(main())
