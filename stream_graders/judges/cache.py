"""Answers that were given before to the same prompt of the same model: a replay asks nobody, and says the same.

Only scores are kept: an error may be over. The key is everything that a score depends on, and nothing of who asked: not the
run's id, not the random ends of tags.
"""

import json
import sqlite3
import time
from asyncio import Future, get_running_loop, shield
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..events import canonical_json

Answer = dict[str, Any]


class Cache:
    """Answers by key, in an SQLite file; of equal questions that come together one is asked."""

    def __init__(self, path: Path | str = ":memory:", days: int = 30) -> None:
        self._seconds = days * 86_400
        self._db = sqlite3.connect(path, timeout=10.0, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT, made REAL)")
        self._asked: dict[str, Future[Answer]] = {}

    async def get(self, key: str, ask: Callable[[], Awaitable[Answer]]) -> tuple[Answer, str]:
        """The answer under a key, and where it came from: ``hit``, ``shared`` with one that was under way, ``miss``."""
        kept = self.look(key)
        if kept is not None:
            return kept, "hit"
        under_way = self._asked.get(key)
        if under_way is not None:
            return await shield(under_way), "shared"
        future: Future[Answer] = get_running_loop().create_future()
        self._asked[key] = future
        try:
            answer = await ask()
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # Whoever shared it raises it too; nobody need have.
            raise
        finally:
            del self._asked[key]
        future.set_result(answer)
        if answer.get("status") == "scored" and self._seconds:
            self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, json.dumps(answer), time.time()))
        return answer, "miss"

    def look(self, key: str) -> Answer | None:
        """The answer under a key, if there is one that is not too old."""
        row = self._db.execute("SELECT answer, made FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None or row[1] < time.time() - self._seconds:
            return None
        answer: Answer = json.loads(row[0])
        return answer

    def forget_old(self) -> None:
        """Remove what is too old."""
        self._db.execute("DELETE FROM answers WHERE made < ?", (time.time() - self._seconds,))

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def key_of(*parts: Any) -> str:
    """The key of what these say: equal values have equal keys."""
    return sha256(canonical_json(parts)).hexdigest()
