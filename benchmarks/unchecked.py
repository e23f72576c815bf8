"""A worker whose suite has no check, which no suite file can say: what reading, order and state cost alone."""

import argparse

from stream_graders.cli.sharing import names_of
from stream_graders.settings import Settings
from stream_graders.stream.app import run
from stream_graders.suites import Fleet, Suite


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--app", required=True)
    parser.add_argument("--slot", required=True)
    parser.add_argument("--topic", action="append", default=[])
    parser.add_argument("--metrics-port", type=int, default=0)
    options = parser.parse_args()
    names = names_of(options.topic)
    settings = Settings(options.bootstrap, options.app, options.slot, names, metrics_port=options.metrics_port)
    return int(run(settings, Fleet((Suite("none", ()),))))


if __name__ == "__main__":
    raise SystemExit(main())
