"""Computes in two functions, and rests between them."""
import time


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def answer():
    spin(0.02)


def tidy():
    spin(0.005)


while True:
    answer()
    tidy()
    time.sleep(0.01)
