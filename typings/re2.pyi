"""What we use of google-re2, which ships no annotations."""

from collections.abc import Iterator

class error(Exception): ...  # noqa: N801, N818  (the library's own name)

class Options:
    log_errors: bool

class Match:
    def group(self, number: int = ...) -> bytes | str | None: ...
    def span(self, number: int = ...) -> tuple[int, int]: ...

class Pattern:
    groups: int
    def search(self, text: bytes | str, pos: int | None = ...) -> Match | None: ...
    def finditer(self, text: bytes | str) -> Iterator[Match]: ...

def compile(pattern: bytes | str, options: Options | None = ...) -> Pattern: ...  # noqa: A001  (the library's own name)
