"""The page of metrics is that of the code, and its check notices when it is not."""

from pathlib import Path

import pytest

from docs import metrics


def test_the_page_is_that_of_the_code() -> None:
    assert metrics.PAGE.read_text(encoding="utf-8") == metrics.page()


def test_a_page_that_is_not_of_the_code_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "metrics.md"
    monkeypatch.setattr(metrics, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["metrics.py", "--check"])
    assert metrics.main() == 1, "there is none"
    page.write_text(metrics.page().replace("dlq_records_total", "dlq_total"), encoding="utf-8")
    assert metrics.main() == 1
    assert "run python docs/metrics.py" in capsys.readouterr().out
    page.write_text(metrics.page(), encoding="utf-8")
    assert metrics.main() == 0
