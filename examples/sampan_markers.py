"""sampan's markers for Python, by ctypes. See docs/markers.md.

    import sampan_markers as markers
    with markers.span("parse"):
        markers.counter_set("queue length", 12)

Without sampan, everything here does nothing.
"""
import contextlib
import ctypes

_TEXT, _ID, _VALUE = ctypes.c_char_p, ctypes.c_uint64, ctypes.c_double
# The table of functions in sampan/markers.h, version 1, in its order: result, then arguments.
_FUNCTIONS = {
    "span_begin": (None, _TEXT, _ID),
    "span_end": (None,),
    "span_text": (None, _TEXT),
    "span_current": (_ID,),
    "span_start": (_ID, _TEXT, _ID),
    "span_stop": (None, _ID),
    "event": (None, _TEXT, _TEXT, _ID),
    "counter_add": (None, _TEXT, _VALUE),
    "counter_set": (None, _TEXT, _VALUE),
    "section_start": (None, _TEXT, ctypes.c_int),
    "section_stop": (None, _TEXT, ctypes.c_int),
    "pause": (None,),
    "resume": (None,),
    "thread_label": (None, _TEXT),
    "thread_order": (None, ctypes.c_int),
    "process_label": (None, _TEXT),
    "process_order": (None, ctypes.c_int),
    "profiled": (ctypes.c_int,),
}


def _find():
    """The functions of the table, by name. Empty without the shim."""
    try:
        find = ctypes.CDLL(None).sampan_find_markers
    except AttributeError:
        return {}
    find.restype = ctypes.POINTER(ctypes.c_void_p)
    find.argtypes = [ctypes.c_uint32]
    table = find(1)
    if not table:
        return {}
    # PYFUNCTYPE keeps the GIL: a call is shorter than releasing it.
    return {name: ctypes.PYFUNCTYPE(*types)(table[i])
            for i, (name, types) in enumerate(_FUNCTIONS.items())}


_found = _find()


def _call(name, *arguments):
    function = _found.get(name)
    if function is None:
        return 0
    return function(*(a.encode("utf-8", "surrogateescape") if isinstance(a, str) else a
                      for a in arguments))


def span_begin(name, parent_id=0): _call("span_begin", name, parent_id)
def span_end(): _call("span_end")
def span_text(text): _call("span_text", text)
def span_current(): return _call("span_current")
def span_start(name, parent_id=0): return _call("span_start", name, parent_id)
def span_stop(span_id): _call("span_stop", span_id)
def event(name, text="", time_ns=0): _call("event", name, text, time_ns)
def counter_add(name, value): _call("counter_add", name, value)
def counter_set(name, value): _call("counter_set", name, value)
def section_start(name, thread_only=False): _call("section_start", name, thread_only)
def section_stop(name, thread_only=False): _call("section_stop", name, thread_only)
def pause(): _call("pause")
def resume(): _call("resume")
def thread_label(text): _call("thread_label", text)
def thread_order(order): _call("thread_order", order)
def process_label(text): _call("process_label", text)
def process_order(order): _call("process_order", order)
def profiled(): return bool(_call("profiled"))


@contextlib.contextmanager
def span(name, text=""):
    """A span of the calling thread, around the block."""
    span_begin(name)
    if text:
        span_text(text)
    try:
        yield
    finally:
        span_end()


@contextlib.contextmanager
def section(name, thread_only=False):
    section_start(name, thread_only)
    try:
        yield
    finally:
        section_stop(name, thread_only)
