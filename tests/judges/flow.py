"""A judge with a real client against a scripted endpoint, and requests for it."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stream_graders.judges.settings import JudgesFile
from stream_graders.judges.work import Made, made
from stream_graders.verdicts import JudgeRequest
from tests.judges.server import ScriptedServer

SHOWN = {"dimension": "accuracy", "guide": "5: right", "question": "Which gate?", "criteria": "", "response": "Gate 4."}


def request(n: int = 0, **known: Any) -> JudgeRequest:
    """A request; another ``n`` is another run with another reply."""
    now = round(time.time() * 1000)
    given: dict[str, Any] = {
        "id": f"q{n}", "run_id": f"run-{n}", "suite": "s", "check": "c", "check_version": "v",
        "grader": "ai_eval.accuracy_grader", "model": "default", "rule": "clamp", "scale": (0, 5), "pass_at": 3.5,
        "input": {**SHOWN, "response": f"Gate {n}."}, "truncated": False, "flags": (), "inclusion_probability": 1.0,
        "budget": {}, "asked_at": now, "due": now + 60_000, "tenant": None,
    }  # fmt: skip
    return JudgeRequest(**{**given, **known})


def file_of(*servers: ScriptedServer, folder: Path | None = None, **model: Any) -> JudgesFile:
    """A judges' file with a model for each endpoint: ``default``, ``second``, ``third``."""
    settings = {"model": "m", "timeout": "20s", **model}
    models = {
        name: {**settings, "base_url": server.url}
        for name, server in zip(("default", "second", "third"), servers, strict=False)
    }
    return JudgesFile.model_validate({"models": models, "folder": None if folder is None else str(folder)})


def answered(file: JudgesFile, requests: Sequence[JudgeRequest], prepare: Callable[[Made], None] | None = None) -> Any:
    """The answers to requests that come together, and the judge that gave them."""

    async def go() -> Any:
        work = made(file)
        if prepare is not None:
            prepare(work)
        try:
            return await asyncio.gather(*(work.judge.answer(each) for each in requests)), work
        finally:
            await work.close_clients()

    return asyncio.run(go())


def one(file: JudgesFile, asked: JudgeRequest | None = None) -> dict[str, Any]:
    """The answer to one request."""
    (answer,), work = answered(file, [asked or request()])
    work.close()
    told: dict[str, Any] = answer
    return told
