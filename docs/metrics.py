"""Makes docs/metrics.md from the code.

    python docs/metrics.py            write the page
    python docs/metrics.py --check    say if the page is not that of the code, and exit with 1 then

Names, meanings and labels stand once, in the code: where a metric is made, and in ``LABELS``.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry

from stream_graders.judges import canary
from stream_graders.judges.metrics import JudgeMetrics
from stream_graders.metrics import LABELS, Metrics, families
from stream_graders.metrics.groups import IDLE, LONGEST, SERIES
from stream_graders.sinks.process import SinkMetrics
from stream_graders.verdicts import Outcome

_NOTHING = canary.drift([canary.Item([1.0, 1.0], [1.0, 1.0], 1.0)], 0.01)
PAGE = Path(__file__).resolve().parent / "metrics.md"


def page() -> str:
    """The page."""
    return "\n".join([*_page(), ""])


def _page() -> Iterator[str]:
    yield "<!-- Made by docs/metrics.py from the code: change it there. -->"
    yield "# Metrics"
    yield ""
    yield "What a worker tells Prometheus on `/metrics`, port 9808. Beside these it has the `process_…` metrics that every process has."
    yield "The alerts on them are in [the runbook](runbook.md), the dashboards in `deploy/grafana/`."
    yield ""
    yield from _table(Metrics([]).registry)
    yield ""
    yield "## Labels"
    yield ""
    yield "| label | what it holds |"
    yield "|---|---|"
    yield from (f"| `{label}` | {meaning} |" for label, meaning in LABELS.items())
    yield ""
    yield "No run id, text or argument is ever a label, and no version of an agent."
    yield ""
    yield "## The sink"
    yield ""
    yield "`stream-graders sink` tells these on port 9810."
    yield ""
    yield from _table(SinkMetrics().registry)
    yield ""
    yield "## The judge worker"
    yield ""
    yield "`stream-graders judge` tells these, on port 9809."
    yield ""
    yield from _table(JudgeMetrics().registry)
    yield ""
    yield "## The canary"
    yield ""
    yield "`stream-graders judge canary --textfile FILE` writes these for node_exporter's textfile collector."
    yield ""
    yield from _table(canary.metrics(_NOTHING, "", 0.0))
    yield ""
    yield "## How many series"
    yield ""
    yield f"A run of an agent that is new in its environment begins {len(Outcome)} series for each check of its suite and {len(Outcome)} more, at 0, so that the"
    yield f"first failure is seen by `increase`. There is room for {SERIES:,} of them in a worker; an agent and environment beyond that count as"
    yield f"`other`, and `stream_graders_labels_folded_total` says how many runs did. Whoever had no run for {IDLE / 3600:.0f} hours gives room to"
    yield f"others. A name is shown with its first {LONGEST} characters, and `?` for what cannot be printed. What is rarer, violations, early and"
    yield "amended verdicts, begins when it happens and comes on top: some three times as many series in all, if everything happens to every check."
    yield ""
    yield "## Exemplars"
    yield ""
    yield "A scraper that asks for OpenMetrics gets the id of a run beside the counters of failed and errored checks and runs, and beside the"
    yield "buckets of `stream_graders_verdict_latency_seconds`: label `run_id`, cut to what the format allows. Prometheus keeps them with"
    yield "`--enable-feature=exemplar-storage`. `stream-graders explain RUN` says why that run was graded as it was."
    yield ""
    yield "## The ledger"
    yield ""
    yield "Every record that was read has one fate, or is held back: the sum of `stream_graders_events_consumed_total` is that of"
    yield "`stream_graders_events_total`, `stream_graders_events_replayed_total` and `stream_graders_events_held`, and"
    yield "`stream_graders_ledger_difference_events` is what is missing. Every check of a selected run has one outcome:"
    yield "`stream_graders_checks_opened_total` less `stream_graders_verdicts_total`, summed over all workers, are the checks of open runs."


def _table(registry: CollectorRegistry) -> Iterator[str]:
    yield "| metric | type | labels | meaning |"
    yield "|---|---|---|---|"
    for told in families(registry):
        labels = ", ".join(f"`{label}`" for label in told.labels)
        yield f"| `{told.name}` | {told.kind} | {labels} | {told.told} |"


def main() -> int:
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    print("docs/metrics.md is not what the code says: run python docs/metrics.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
