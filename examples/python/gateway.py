# A service with asyncio: readers answer requests, an importer parses a large file in the loop.
import asyncio
import json
import random

ROWS = [{"id": i, "tags": [str(j) for j in range(i % 7)]} for i in range(20_000)]


def render(request):
    return json.dumps(ROWS[request:request + 20])


async def answer(requests):
    while (request := await requests.get()) is not None:
        render(request)
        await asyncio.sleep(random.random() / 1000)


def parse(text):
    return {row["id"]: row for row in json.loads(text) if row["tags"]}


async def import_all():
    text = json.dumps(ROWS * 5)
    for _ in range(3):
        await asyncio.sleep(0.5)
        parse(text)


async def ask(requests):
    for i in range(6_000):
        await requests.put(i)
    for _ in range(8):
        await requests.put(None)


async def main():
    requests = asyncio.Queue(100)
    readers = [asyncio.create_task(answer(requests)) for _ in range(8)]
    importer = asyncio.create_task(import_all(), name="importer")
    await asyncio.gather(ask(requests), importer, *readers)


asyncio.run(main())
