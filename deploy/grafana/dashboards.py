"""Makes Grafana's dashboards in deploy/grafana/dashboards/ from `boards`.

    python -m deploy.grafana.dashboards            write them
    python -m deploy.grafana.dashboards --check    say which are not those of the code, and exit with 1 if any is not

The files are committed: Grafana reads them as they are, and a change of the makers' library shows as a difference.
"""

import json
import sys
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.builders import dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from .boards import BOARDS
from .boards.parts import PREFIX, Board, Panel

FOLDER = Path(__file__).resolve().parent / "dashboards"
SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
TAG = "stream-graders"
WIDE, NARROW = 8, 4
"""Columns of 24 that a picture of lines takes, and one of a number."""


def made(board: Board) -> str:
    """A dashboard as JSON."""
    made = (
        dashboard.Dashboard(f"stream_graders / {board.title}")
        .uid(f"stream-graders-{board.name}")
        .description(board.told)
        .tags([TAG])
        .readonly()
        .refresh("30s")
        .time("now-6h", "now")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .link(
            dashboard.DashboardLink("stream_graders").tags([TAG]).as_dropdown(True).include_vars(True).keep_time(True)
        )
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    )
    for name, metric in board.choices.items():
        made = made.with_variable(_choice(name, metric))
    number = 0
    for row in board.rows:
        number += 1
        made = made.with_row(dashboard.Row(row.title).id(number))
        for panel in row.panels:
            number += 1
            made = made.with_panel(_panel(panel).id(number))
    return json.dumps(_told(json.loads(JSONEncoder().encode(made.build()))), indent=1, sort_keys=True) + "\n"


def _told(value: Any) -> Any:
    """The JSON without what the library leaves at null, where Grafana has defaults of its own."""
    if isinstance(value, dict):
        return {key: _told(each) for key, each in value.items() if each is not None}
    return [_told(each) for each in value] if isinstance(value, list) else value


def _choice(name: str, metric: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .datasource(SOURCE)
        .query(f"label_values({PREFIX}{metric}, {name})")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(VariableOption(selected=True, text="All", value="$__all"))
    )


def _panel(panel: Panel) -> stat.Panel | timeseries.Panel:
    made = (
        stat.Panel().span(NARROW).height(4)
        if panel.is_number
        else timeseries.Panel().span(WIDE).height(8).fill_opacity(5)
    )
    made = made.title(panel.title).description(panel.told).datasource(SOURCE).unit(panel.unit).no_value("none")
    if panel.unit == "percentunit":
        made = made.min(0).max(1)
    for number, query in enumerate(panel.queries):
        target = (
            prometheus.Dataquery()
            .expr(query.expr)
            .ref_id(chr(ord("A") + number))
            .legend_format(query.legend or "__auto")
        )
        made = made.with_target(target.instant() if panel.is_number else target.range().exemplar(query.exemplars))
    return made


def stale(folder: Path = FOLDER) -> list[str]:
    """The files that are not what the code makes."""
    wanted = {f"{board.name}.json": made(board) for board in BOARDS}
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def main() -> int:
    """Write the files, or check them."""
    if "--check" not in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        for old in FOLDER.glob("*.json"):
            old.unlink()
        for board in BOARDS:
            (FOLDER / f"{board.name}.json").write_text(made(board), encoding="utf-8")
        return 0
    found = stale()
    for name in found:
        print(f"deploy/grafana/dashboards/{name} is not what the code says: run python -m deploy.grafana.dashboards")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
