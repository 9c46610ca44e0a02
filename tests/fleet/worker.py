#!/usr/bin/python3
"""A worker without MPI: computes for a second."""
import time


def solve():
    end = time.thread_time() + 1
    while time.thread_time() < end:
        pass


solve()
