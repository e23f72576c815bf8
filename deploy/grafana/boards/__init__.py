"""What the dashboards show: a module a board, of panels as data. `dashboards.py` makes Grafana's JSON of them."""

from . import agent, check, fleet, judge, kafka, worker

BOARDS = (fleet.BOARD, agent.BOARD, check.BOARD, worker.BOARD, kafka.BOARD, judge.BOARD)
