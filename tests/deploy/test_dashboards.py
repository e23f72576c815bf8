"""The dashboards: they are those of the code, ask for what it tells, and show all of it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.grafana import dashboards
from deploy.grafana.boards import BOARDS
from deploy.grafana.boards.parts import PREFIX, Board, Panel, Query, Row
from tests.deploy.programs import DEPLOY
from tests.deploy.promql import chosen, known, ours, problems, selectors
from tests.deploy.test_rules import ALL

QUERIES = {
    f"{board.name}: {panel.title} {number}": query
    for board in BOARDS
    for row in board.rows
    for panel in row.panels
    for number, query in enumerate(panel.queries)
}
FILES = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))


def test_the_files_are_those_of_the_code() -> None:
    assert dashboards.stale() == []
    assert [path.stem for path in FILES] == sorted(board.name for board in BOARDS)


def test_a_file_that_is_not_of_the_code_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(dashboards.FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(dashboards, "stale", lambda: STALE(tmp_path))
    monkeypatch.setattr("sys.argv", ["dashboards.py", "--check"])
    assert dashboards.main() == 0
    (tmp_path / "old.json").write_text("{}", encoding="utf-8")
    (tmp_path / "kafka.json").unlink()
    fleet = tmp_path / "fleet.json"
    fleet.write_text(fleet.read_text(encoding="utf-8").replace("rate(", "irate("), encoding="utf-8")
    assert dashboards.main() == 1
    told = capsys.readouterr().out
    assert re.findall(r"dashboards/(\w+\.json)", told) == ["fleet.json", "kafka.json", "old.json"]


STALE = dashboards.stale


@pytest.mark.parametrize("query", QUERIES.values(), ids=list(QUERIES))
def test_a_query_asks_for_what_the_code_tells(query: Query) -> None:
    assert list(problems(chosen(query.expr))) == []


def unchosen(board: Board) -> set[str]:
    """What a board's queries use and nobody can choose, or choose in vain."""
    used = {
        name
        for row in board.rows
        for panel in row.panels
        for query in panel.queries
        for name in re.findall(r"\$(\w+)", query.expr)
        if not name.startswith("__")
    }
    nowhere = {
        name for name, metric in board.choices.items() if name not in known()[f"{PREFIX}{metric}"] | {"instance", "job"}
    }
    return (used ^ board.choices.keys()) | nowhere


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_what_a_query_leaves_open_can_be_chosen(board: Board) -> None:
    assert unchosen(board) == set()


def test_a_choice_that_is_missing_or_in_vain_is_noticed() -> None:
    rows = (Row("", (Panel("", "", (Query('up{instance=~"$instance"}'),)),)),)
    assert unchosen(Board("", "", "", {}, rows)) == {"instance"}
    assert unchosen(Board("", "", "", {"instance": "state_keys", "agent": "state_keys"}, rows)) == {"agent"}


def unseen(expressions: list[str]) -> set[str]:
    """Metrics that no expression looks at."""
    seen = {selector.name for expression in expressions for selector in selectors(expression)}
    return {
        told.name
        for told in ours()
        if not seen & {told.name, *(f"{told.name}_{part}" for part in ("bucket", "sum", "count"))}
    }


def test_every_metric_is_on_a_dashboard() -> None:
    assert unseen([chosen(query.expr) for query in QUERIES.values()]) == set()


def test_a_metric_that_is_on_none_is_noticed() -> None:
    expressions = [chosen(query.expr) for query in QUERIES.values() if "dlq_records" not in query.expr]
    assert unseen(expressions) == {"stream_graders_dlq_records_total"}
    assert "stream_graders_dlq_records_total" not in unseen([rule["expr"] for rule in ALL])


def faults(made: list[dict[str, Any]]) -> list[str]:
    """What Grafana would stumble over, or show in the wrong place."""
    found = []
    for name in ("uid", "title"):
        told = [each[name] for each in made]
        found += [f"two of {name} {value}" for value in sorted({value for value in told if told.count(value) > 1})]
    for each in made:
        panels = each["panels"]
        ids = [panel["id"] for panel in panels]
        found += [f"{each['uid']}: two panels {number}" for number in sorted({n for n in ids if ids.count(n) > 1})]
        places = [_cells(panel["gridPos"]) for panel in panels]
        if sum(map(len, places)) != len(set().union(*places)):
            found.append(f"{each['uid']}: panels lie on each other")
        for panel in panels:
            if panel["type"] != "row" and panel.get("datasource", {}).get("uid") != "${datasource}":
                found.append(f"{each['uid']}: {panel['title']}: reads one data source only")
    return found


def _cells(place: dict[str, int]) -> set[tuple[int, int]]:
    return {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}


def read() -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in FILES]


def test_grafana_can_show_them_side_by_side_from_any_prometheus() -> None:
    assert faults(read()) == []


def test_what_it_would_stumble_over_is_noticed() -> None:
    made = read()
    made[1]["uid"] = made[0]["uid"]
    panel = made[2]["panels"][2]
    panel["id"], panel["gridPos"] = 1, made[2]["panels"][1]["gridPos"]
    panel["datasource"]["uid"] = "mine"
    assert faults(made) == [
        "two of uid stream-graders-agent",
        "stream-graders-fleet: two panels 1",
        "stream-graders-fleet: panels lie on each other",
        f"stream-graders-fleet: {panel['title']}: reads one data source only",
    ]


def test_grafana_is_told_where_they_lie() -> None:
    folder = DEPLOY / "grafana" / "provisioning"
    [source] = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text(encoding="utf-8"))["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://prometheus:9090")
    [provider] = yaml.safe_load((folder / "dashboards" / "stream-graders.yml").read_text(encoding="utf-8"))["providers"]
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards"
