#!/usr/bin/env python3
"""Markers in Python: sorts lists of numbers on two threads.

    markers.py [JOURNAL]

The journal is for tests. It has a line of JSON for each marker, with what the program knows of it.
A time is a pair, read before and after the call.
"""
import json
import random
import sys
import threading
import time

import sampan_markers as markers

lines = []


def timed(call, *arguments):
    before = time.monotonic_ns()
    result = call(*arguments)
    return [before, time.monotonic_ns()], result


def merge_sort(numbers, parent=0):
    """Makes a span for each list, inside the span of the list that it is a half of."""
    begin, _ = timed(markers.span_begin, "sort")
    markers.span_text(str(len(numbers)))
    identity = markers.span_current()
    if len(numbers) > 50:
        half = len(numbers) // 2
        left, right = merge_sort(numbers[:half], identity), merge_sort(numbers[half:], identity)
        result = []
        while left and right:
            result.append((left if left[-1] > right[-1] else right).pop())
        result = (left or right) + result[::-1]
    else:
        result = sorted(numbers)
    markers.counter_add("numbers sorted", len(numbers))
    lines.append({"what": "counter", "name": "numbers sorted", "change": len(numbers),
                  "tid": threading.get_native_id()})
    end, _ = timed(markers.span_end)
    lines.append({"what": "span", "name": "sort", "id": identity, "parent": parent,
                  "tid": threading.get_native_id(), "end_tid": threading.get_native_id(),
                  "begin": begin, "end": end, "text": str(len(numbers))})
    return result


def work(seed):
    markers.thread_label(f"sorter {seed}")
    numbers = [random.Random(seed).random() for _ in range(2000)]
    begin, _ = timed(markers.section_start, f"seed_{seed}", True)
    print(f"{merge_sort(numbers) == sorted(numbers)}\n", end="")
    end, _ = timed(markers.section_stop, f"seed_{seed}", True)
    lines.append({"what": "section", "name": f"seed_{seed}", "begin": begin, "end": end})
    moment, _ = timed(markers.event, "sorted", f"with “{seed}”")
    lines.append({"what": "event", "name": "sorted", "text": f"with “{seed}”",
                  "tid": threading.get_native_id(), "time": moment})


threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as journal:
        journal.writelines(json.dumps(line) + "\n" for line in lines)
