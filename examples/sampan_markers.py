"""sampan's markers for Python, by ctypes: this file is all. See docs/markers.md.

    import sampan_markers as markers

    with markers.span("parse", path):              # what the block does
        markers.record_metric("queue length", 12)  # a number over time

    @markers.traced(hide=("password",))            # a span for each call, with its arguments
    async def login(user, password): ...

A span belongs to the context that it was begun in (contextvars): in asyncio each task has spans of its own,
however the tasks take turns. Works with Python 3.9 and later. Without sampan, everything here does nothing, and
a traced function is the function itself.
"""
import contextlib
import contextvars
import ctypes
import functools
import inspect
import reprlib
import sys

_TEXT, _ID, _VALUE = ctypes.c_char_p, ctypes.c_uint64, ctypes.c_double
_VERSION = 3
# The table of functions in sampan/markers.h, in its order: result, then arguments.
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
    "span_text_of": (None, _ID, _TEXT),
    "trace_context": (None, _TEXT, _TEXT, _TEXT),  # bytes that may be zero
    "trace_section_start": (ctypes.c_int, _TEXT, _TEXT, _TEXT),
}


def _find():
    """The functions of the table, by name. Empty without the shim."""
    try:
        find = ctypes.CDLL(None).sampan_find_markers
    except AttributeError:
        return {}
    find.restype = ctypes.POINTER(ctypes.c_void_p)
    find.argtypes = [ctypes.c_uint32]
    table = find(_VERSION)
    if not table:
        return {}
    # PYFUNCTYPE keeps the GIL: a call is shorter than releasing it.
    return {name: ctypes.PYFUNCTYPE(*types)(table[i])
            for i, (name, types) in enumerate(_FUNCTIONS.items())}


_found = _find()
# The id of the innermost span of `with span` or of a traced function; 0: none.
_current = contextvars.ContextVar("sampan's current span", default=0)


def _call(name, *arguments):
    function = _found.get(name)
    if function is None:
        return 0
    return function(*(a.encode("utf-8", "surrogateescape") if isinstance(a, str) else a
                      for a in arguments))


# The functions of markers.h. Spans of span_begin nest in their thread: not for coroutines and generators.
def span_begin(name, parent_id=0): _call("span_begin", name, parent_id)
def span_end(): _call("span_end")
def span_text(text): _call("span_text", text)
def span_current(): return _call("span_current")
def span_start(name, parent_id=0): return _call("span_start", name, parent_id)
def span_text_of(span_id, text): _call("span_text_of", span_id, text)
def span_stop(span_id): _call("span_stop", span_id)
def event(name, text="", time_ns=0): _call("event", name, text, time_ns)
def counter_add(name, value): _call("counter_add", name, value)
def counter_set(name, value): _call("counter_set", name, value)
def section_start(name, thread_only=False): _call("section_start", name, thread_only)
def section_stop(name, thread_only=False): _call("section_stop", name, thread_only)
def context_clear(): _call("trace_context", None, None, None)
def trace_section_start(name, traceparent, tracestate): return _call("trace_section_start", name, traceparent, tracestate)
def pause(): _call("pause")
def resume(): _call("resume")
def thread_label(text): _call("thread_label", text)
def thread_order(order): _call("thread_order", order)
def process_label(text): _call("process_label", text)
def process_order(order): _call("process_order", order)
def profiled(): return bool(_call("profiled"))


def context(trace_id, span_id, parent_id=None):
    """The calling thread works for this request: ids of W3C Trace Context, as hexadecimal digits or bytes."""
    _call("trace_context", *(bytes.fromhex(i) if isinstance(i, str) else i for i in (trace_id, span_id, parent_id)))


def record_metric(name, value):
    """The value of a metric now: `sampan metrics` makes a table and a picture of it."""
    counter_set(name, float(value))


@contextlib.contextmanager
def section(name, thread_only=False):
    """An interval with a profile of its own, around the block."""
    section_start(name, thread_only)
    try:
        yield
    finally:
        section_stop(name, thread_only)


_SUSPENDABLE = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def _may_be_suspended(frame):
    """Whether others may run on the thread before the frame's block ends. A span that an ExitStack holds may
    outlive the function."""
    code = frame.f_code
    return bool(code.co_flags & _SUSPENDABLE) or code.co_filename == contextlib.__file__


class span:
    """A span around the block, inside the span of the context: the span around it, the one of the task that made this
    task, or that of the thread."""

    def __init__(self, name, text=""):
        self._name, self._text = name, text
        self.id = 0

    def __enter__(self):
        if not _found:
            return self
        parent = _current.get()
        self._across = _may_be_suspended(sys._getframe(1))
        if self._across:
            self.id = span_start(self._name, parent)
        else:
            span_begin(self._name, parent)
            self.id = span_current()
        if self._text:
            span_text_of(self.id, str(self._text))
        self._token = _current.set(self.id)
        return self

    def __exit__(self, *_):
        if not _found:
            return
        if self._across:
            span_stop(self.id)
        else:
            span_end()
        # A generator may be closed in another context than it was begun in.
        with contextlib.suppress(ValueError):
            _current.reset(self._token)


class _Steps:
    """The span of a generator. It is the context's span while the generator runs, not while its consumer does."""

    def __init__(self, name, text):
        self._id = span_start(name, _current.get())
        if text:
            span_text_of(self._id, text)

    def __enter__(self):
        self._token = _current.set(self._id)

    def __exit__(self, *_):
        _current.reset(self._token)

    def close(self):
        span_stop(self._id)


_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def _arguments_text(code, hide):
    """A function that writes the arguments of a call of `code`: "user='eve', password=…"."""
    names = code.co_varnames[:code.co_argcount]
    skipped = bool(names) and names[0] in ("self", "cls")

    def one(name, value):
        return f"{name}={'…' if name in hide else _short.repr(value)}"

    def text(args, kwargs):
        named = [one(name, value) for name, value in zip(names, args)][skipped:]
        rest = ["…" if hide else _short.repr(value) for value in args[len(names):]]
        return ", ".join(named + rest + [one(name, value) for name, value in kwargs.items()])
    return text


def traced(function=None, *, name=None, hide=()):
    """A decorator: a span for each call of a function, a coroutine function or a generator function, which ends with
    it. `hide`: the names of arguments whose values are not recorded; True: record no arguments."""
    if function is None:
        return functools.partial(traced, name=name, hide=hide)
    if not _found:
        return function
    label = name or function.__qualname__
    code = getattr(inspect.unwrap(function), "__code__", None)
    text = (lambda args, kwargs: "") if hide is True or code is None else _arguments_text(code, hide)
    if inspect.iscoroutinefunction(function):
        async def call(*args, **kwargs):
            with span(label, text(args, kwargs)):
                return await function(*args, **kwargs)
    elif inspect.isasyncgenfunction(function):
        async def call(*args, **kwargs):
            with contextlib.closing(_Steps(label, text(args, kwargs))) as steps:
                generator = function(*args, **kwargs)
                step, argument = generator.asend, None
                while True:
                    try:
                        with steps:
                            item = await step(argument)
                    except StopAsyncIteration:
                        return
                    try:
                        step, argument = generator.asend, (yield item)
                    except GeneratorExit:
                        await generator.aclose()
                        raise
                    except BaseException as error:
                        step, argument = generator.athrow, error
    elif inspect.isgeneratorfunction(function):
        def call(*args, **kwargs):
            with contextlib.closing(_Steps(label, text(args, kwargs))) as steps:
                generator = function(*args, **kwargs)
                step, argument = generator.send, None
                while True:
                    try:
                        with steps:
                            item = step(argument)
                    except StopIteration as end:
                        return end.value
                    try:
                        step, argument = generator.send, (yield item)
                    except GeneratorExit:
                        generator.close()
                        raise
                    except BaseException as error:
                        step, argument = generator.throw, error
    else:
        def call(*args, **kwargs):
            with span(label, text(args, kwargs)):
                return function(*args, **kwargs)
    return functools.wraps(function)(call)
