"""Seccomp filters, for the process that calls, and for the programs that it becomes."""
import ctypes

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, EPERM, KILL_PROCESS = 0x7FFF0000, 0x00050001, 0x80000000
libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    """struct sock_fprog."""
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def instruction(operation, value, if_true=0):
    """struct sock_filter."""
    return operation.to_bytes(2, "little") + bytes([if_true, 0]) + value.to_bytes(4, "little")


def refuse(*calls, action=EPERM):
    """Installs a filter: `calls` have `action`, all others are allowed."""
    code = instruction(LOAD, 0)  # the call's number
    for i, call in enumerate(calls):
        code += instruction(JUMP_IF_EQUAL, call, if_true=len(calls) - i)  # to the last instruction
    code += instruction(RETURN, ALLOW) + instruction(RETURN, action)
    program = Program(len(code) // 8, code)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0
