"""Scales lines of an image and compresses them, in two threads. The program of docs/python.md."""
import threading
import zlib

def brightness(pixel):
    red, green, blue = pixel
    return (2 * red + 5 * green + blue) >> 3

def scale(image):
    row = bytearray()
    for pixel in image:
        row.append(brightness(pixel))
    return row

def pack(row):
    return zlib.compress(row * 20, 9)

def serve(image, count):
    for _ in range(count):
        pack(scale(image))

image = [(i & 255, i * 7 & 255, i * 31 & 255) for i in range(30_000)]
threads = [threading.Thread(target=serve, name=f"scaler-{i}", args=(image, 200 * (i + 1))) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
