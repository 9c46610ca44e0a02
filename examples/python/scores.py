"""sqlite3 that calls a Python function for each row. The C extension of docs/python.md."""
import sqlite3

def score(text):
    return sum(map(ord, text)) % 97

db = sqlite3.connect(":memory:")
db.create_function("score", 1, score)
db.execute("create table words (word)")
db.executemany("insert into words values (?)", ((f"word {i}" * 4,) for i in range(200_000)))
for _ in range(3):
    db.execute("select score(word), count(*) from words group by 1 order by 2").fetchall()
