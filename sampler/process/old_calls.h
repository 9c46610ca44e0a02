// System calls that younger processors do not have, because a newer call does the same. There they have
// numbers that no call has.
#pragma once

#include <sys/syscall.h>

#if !defined(SYS_open)
enum : long {
  SYS_open = -1000,
  SYS_creat = -1001,
  SYS_stat = -1002,
  SYS_lstat = -1003,
  SYS_unlink = -1004,
  SYS_mkdir = -1005,
  SYS_poll = -1006,
  SYS_select = -1007,
  SYS_epoll_wait = -1008,
  SYS_getdents = -1009,
};
#endif
