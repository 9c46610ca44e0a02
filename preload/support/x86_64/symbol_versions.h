// The oldest versions of the C library's functions that the shim calls, so that it loads into programs of older
// distributions, too: all but these have their oldest version by themselves. Included before every source of the shim
// (`freestanding_args`); tests/preload/freestanding.py checks the result. What came after glibc 2.17 is looked
// up (loaded_symbols.h). x86-64.
#pragma once

#define SAMPAN_VERSION(function, version) asm(".symver " #function ", " #function "@GLIBC_" version)

SAMPAN_VERSION(dladdr, "2.2.5");
SAMPAN_VERSION(dlsym, "2.2.5");
SAMPAN_VERSION(pthread_attr_getstacksize, "2.2.5");
SAMPAN_VERSION(pthread_key_create, "2.2.5");
SAMPAN_VERSION(pthread_getspecific, "2.2.5");
SAMPAN_VERSION(pthread_setspecific, "2.2.5");
SAMPAN_VERSION(dladdr1, "2.3.3");
SAMPAN_VERSION(dlinfo, "2.3.3");

#undef SAMPAN_VERSION
