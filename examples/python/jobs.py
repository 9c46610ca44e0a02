"""Two worker processes that parse JSON and count. The workers of docs/python.md."""
import json, multiprocessing

def parse(number):
    text = json.dumps([{"id": i, "tags": ["a", "b"]} for i in range(40_000)])
    return len(json.loads(text)) + collatz(number)

def collatz(number):
    steps = 0
    for start in range(number, number + 30_000):
        while start != 1:
            start = start // 2 if start % 2 == 0 else 3 * start + 1
            steps += 1
    return steps

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(parse, range(1, 9))
