// How old_glibc.cpp redirects calls on x86-64.
#pragma once

#define OLD_JUMP(function) "jmp *old_" #function "@GOTPCREL(%rip)\n"
#define OLD_VERSION(version) "@GLIBC_" version
// What the functions behind stat(2) and its like expect first: struct stat as it is.
inline constexpr int kStatVersion = 1;
