"""Python programs whose calls are known, for tests that judge stacks."""


def known_calls(frames, calls, roots):
    """The functions of a stack that are in `calls` ({caller: callees}); an AssertionError if it has a call that is not
    there, or begins elsewhere than in one of the `roots`."""
    functions = calls.keys() | set().union(*calls.values()) | set(roots)
    known = [name for name in (frame.split(".")[-1] for frame in frames) if name in functions]
    assert not known or known[0] in roots, frames
    for caller, callee in zip(known, known[1:]):
        assert callee in calls.get(caller, ()), f"{caller} calls {callee}: {frames}"
    return known


# Little else than calls, in every way that has a path of its own through the interpreter.
STORM = """
import sys, threading, time, zlib

class Dropped:
    def __del__(self): finalize()
def finalize(): return [None for _ in (1, 2, 3)]
def dropper():
    for _ in range(100): Dropped()

def sorter():
    for _ in range(20): sorted(range(30), key=key)
def key(value): return negative(value)
def negative(value): return -value

def catcher():
    for _ in range(50):
        try: deep(12)
        except ValueError: handle()
def deep(n): return deep(n - 1) if n else bottom()
def bottom(): raise ValueError
def handle(): return 1

def summer():
    for _ in range(20): sum(outer(20))
def outer(n): yield from inner(n)
def inner(n):
    for i in range(n): yield element(i)
def element(i): return i

def runner():
    for _ in range(50):
        try: coroutine().send(None)
        except StopIteration: pass
async def coroutine(): return await awaited()
async def awaited(): return element(1)

def presser():
    for _ in range(5): zlib.compress(DATA, 1)
DATA = bytes(range(256)) * 40

TURNS = [dropper, sorter, catcher, summer, runner, presser]
def work(first):
    end = time.thread_time() + float(sys.argv[1])
    while time.thread_time() < end:
        TURNS[first % len(TURNS)]()
        first += 1
threads = [threading.Thread(target=work, args=(2 * i,)) for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
# Who calls whom there; what a list comprehension has of its own depends on the version.
STORM_CALLS = {
    "work": {"dropper", "sorter", "catcher", "summer", "runner", "presser"},
    "dropper": {"__del__"}, "__del__": {"finalize"}, "sorter": {"key"}, "key": {"negative"}, "catcher": {"deep", "handle"},
    "deep": {"deep", "bottom"}, "summer": {"outer"}, "outer": {"inner"}, "inner": {"element"}, "runner": {"coroutine"},
    "coroutine": {"awaited"}, "awaited": {"element"},
}
# The function that runs while C code of this name does.
STORM_NATIVES = {"list_sort": "sorter", "builtin_sum": "summer", "deflate": "presser"}


# The kinds of programs that people profile, one after the other in one thread.
KINDS = """
import asyncio, contextlib, functools, json, re, sys, time

def even(n): return True if n == 0 else odd(n - 1)
def odd(n): return False if n == 0 else even(n - 1)
def recursions(): even(80)

def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def trees(): fib(9)

def layer_1(n): return layer_2(n) + 1
def layer_2(n): return layer_3(n) + 1
def layer_3(n):
    total = 0
    for i in range(n): total += i
    return total
def layers():
    for _ in range(20): layer_1(5)

def logged(function):
    @functools.wraps(function)
    def logging(*args, **more): return function(*args, **more)
    return logging
@logged
def decorated(n): return helped(n)
def helped(n): return n * n
def decorations():
    for i in range(50): decorated(i)

class Shape:
    def __init__(self, side): self.set_side(side)
    def set_side(self, side): self.side = side
    def area(self): return self.side * self.side
class Square(Shape):
    def __init__(self, side): super().__init__(side)
    def __lt__(self, other): return self.compared(other)
    def compared(self, other): return self.side < other.side
    @property
    def doubled(self): return self.area() * 2
def objects():
    squares = [Square(i % 7) for i in range(20)]
    squares.sort()
    for square in squares: square.doubled

class Key:
    def __init__(self, value): self.value = value
    def __hash__(self): return mixed(self.value)
    def __eq__(self, other): return same(self.value, other.value)
def mixed(value): return value % 5
def same(one, other): return one == other
def tables():
    table = {}
    for i in range(20): table[Key(i)] = i

def source(n):
    for i in range(n): yield i
def doubles(numbers):
    for number in numbers: yield times_two(number)
def times_two(number): return number * 2
def pipelines(): return sum(doubles(source(40)))

@contextlib.contextmanager
def managed():
    try: yield
    finally: closed()
def closed(): return 1
def managers():
    for _ in range(20):
        with managed(): body()
def body(): return 2

def level_one():
    try: level_two()
    finally: cleaned()
def level_two():
    try: level_three()
    except KeyError as error: raise ValueError from error
def level_three(): raise KeyError
def cleaned(): return 3
def errors():
    for _ in range(20):
        try: level_one()
        except ValueError: pass

def reducer(one, other): return one + other
def filtered(number): return number % 2
def mapped(number): return number + 1
def functional():
    functools.reduce(reducer, filter(filtered, map(mapped, range(40))))

def replaced(match): return match.group().upper()
def texts(): PATTERN.sub(replaced, "one two three four five six")
PATTERN = re.compile("[a-z]+")

def encoded(value): return sorted(value)
def documents(): json.dumps({"a": {3, 2, 1}, "b": [{6, 5}, {4}]}, default=encoded)

async def job(n):
    await asyncio.sleep(0)
    return await part(n)
async def part(n): return computed(n)
def computed(n): return sum(range(n))
async def gathered(): return await asyncio.gather(*(job(i) for i in range(10)))
async def streamed():
    async for number in numbers(10): computed(number)
async def numbers(n):
    for i in range(n): yield i
async def all_jobs():
    await gathered()
    await streamed()
def tasks(): asyncio.run(all_jobs())

TURNS = [recursions, trees, layers, decorations, objects, tables, pipelines, managers, errors, functional, texts,
         documents, tasks]
def work():
    end = time.thread_time() + float(sys.argv[1])
    while time.thread_time() < end:
        for turn in TURNS: turn()
work()
"""
# Without methods that the standard library has, too.
KINDS_CALLS = {
    "work": {"recursions", "trees", "layers", "decorations", "objects", "tables", "pipelines", "managers", "errors",
             "functional", "texts", "documents", "tasks"},
    "recursions": {"even"}, "even": {"odd"}, "odd": {"even"}, "trees": {"fib"}, "fib": {"fib"}, "layers": {"layer_1"},
    "layer_1": {"layer_2"}, "layer_2": {"layer_3"}, "decorations": {"logging"}, "logging": {"decorated"},
    "decorated": {"helped"}, "objects": {"set_side", "compared", "doubled"}, "doubled": {"area"},
    "tables": {"mixed", "same"}, "pipelines": {"source", "doubles"}, "doubles": {"source", "times_two"},
    "managers": {"managed", "body"}, "managed": {"closed"}, "errors": {"level_one"},
    "level_one": {"level_two", "cleaned"}, "level_two": {"level_three"},
    "functional": {"reducer", "filtered", "mapped"}, "texts": {"replaced"}, "documents": {"encoded"},
    "tasks": {"all_jobs", "job"}, "all_jobs": {"gathered", "streamed"}, "gathered": {"job"}, "job": {"part"},
    "part": {"computed"}, "streamed": {"numbers", "computed"},
}
KINDS_NATIVES = {"functools_reduce": "functional"}
