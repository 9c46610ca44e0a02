// How old_glibc.cpp redirects calls on AArch64, where 2.17 is the first version of all functions.
#pragma once

#define OLD_JUMP(function)                  \
  "adrp x16, :got:old_" #function           \
  "\n"                                      \
  "ldr x16, [x16, :got_lo12:old_" #function \
  "]\n"                                     \
  "br x16\n"
#define OLD_VERSION(version) "@GLIBC_2.17"
// What the functions behind stat(2) and its like expect first: struct stat as it is.
inline constexpr int kStatVersion = 0;
