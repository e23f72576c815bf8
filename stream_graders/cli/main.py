"""The command ``stream-graders``."""

from pathlib import Path
from typing import Annotated

import typer

from .errors import leave, told

app = typer.Typer(
    name="stream-graders",
    help="Grade the runs of AI agents while they run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
topics_app = typer.Typer(help="Kafka topics as code.", no_args_is_help=True)
app.add_typer(topics_app, name="topics")
judge_app = typer.Typer(help="Answer what checks ask judges, and see what that costs and is worth.")
app.add_typer(judge_app, name="judge")

Suites = Annotated[
    list[Path], typer.Option("--suite", "-s", help="A suite file, or a folder of them; may be repeated.")
]
Bootstrap = Annotated[
    str, typer.Option("--bootstrap", envvar="SG_BOOTSTRAP_SERVERS", help="Kafka's addresses, host:port with commas.")
]
OfTopic = Annotated[
    str | None,
    typer.Option("--bootstrap", envvar="SG_BOOTSTRAP_SERVERS", help="For kafka:TOPIC: Kafka's addresses, host:port."),
]
Last = Annotated[
    int | None,
    typer.Option(min=1, help="For kafka:TOPIC: how many of the last records to read. [default: 100000]"),
]
Places = Annotated[
    list[Path], typer.Argument(help="Files that hold its events, as grade reads them, or kafka:TOPIC, the journal.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


@app.command()
def grade(
    files: Annotated[list[Path], typer.Argument(help="JSON Lines of events or of chat transcripts; .gz is read too.")],
    suite: Suites,
    json: AsJson = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            help="Run outcomes that miss the gate, with commas: fail, error, not_graded, skipped."
            " [default: fail,error; error where a rate, repetitions or a baseline decide]"
        ),
    ] = None,
    min_pass_rate: Annotated[
        float | None, typer.Option(min=0, max=1, help="The share of runs that has to pass, 0 to 1.")
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(help="What the runs' scores have to reach on average, degraded runs left out.")
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="The field that runs of one case share, like labels.case.")
    ] = None,
    need: Annotated[str | None, typer.Option(help="How many runs of each case have to pass, like 8/10.")] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="What grade --json wrote before: only what is new since then misses the gate.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit XML report here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown report here.")] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Annotate the build, and add the report to its step summary.")
    ] = False,
    soft: Annotated[
        bool, typer.Option("--soft", help="Say what misses the gate, and leave with 0 all the same.")
    ] = False,
) -> None:
    """Grade finished runs in files: the verdicts that a worker gives on the same events."""
    from .grade import Asked, grade_files

    with told():
        asked = Asked(json, fail_on, min_pass_rate, min_score, group_by, need, baseline, junit, markdown, github, soft)
        grade_files(files, suite, asked)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Suite files, or folders of them.")],
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Runs to try the checks on: a file, as grade reads it (may be repeated), or kafka:TOPIC."),
    ] = None,
    bootstrap: OfTopic = None,
    last: Last = None,
    judges: Annotated[
        Path | None, typer.Option("--judges", "-j", help="The judges' file: are the judges there, and worth it?")
    ] = None,
    json: AsJson = False,
) -> None:
    """Check suite files: every problem, with its file, line and likely fix; and what they say of runs that you have."""
    from .check import check_files

    with told():
        check_files(files, against or [], bootstrap, last, judges, as_json=json)


@app.command()
def schema() -> None:
    """Print the JSON Schema of suites for editors, with the graders that are installed here."""
    from ..catalogue import catalogue
    from ..config.schema import suite_schema, written

    typer.echo(written(suite_schema(catalogue().values())), nl=False)


@app.command()
def init(
    files: Annotated[
        list[Path],
        typer.Option("--from", help="Runs to start from: a file, as grade reads it (may be repeated), or kafka:TOPIC."),
    ],
    bootstrap: OfTopic = None,
    last: Last = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the suite here. [default: print it]")
    ] = None,
    json: AsJson = False,
) -> None:
    """Survey runs (agents, tools, shapes, likely writes, what is missing) and write a first suite for them."""
    from .init import init_suite

    with told():
        init_suite(files, bootstrap, last, output, as_json=json)


@app.command("import")
def import_source(
    file: Annotated[Path, typer.Argument(help="A source's own file, YAML or JSON.")],
    form: Annotated[
        str, typer.Option("--format", help="vally, agentlasso, ai_eval, datarobot, promptfoo, adk or pydantic_evals.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the suite here. [default: print it]")
    ] = None,
) -> None:
    """Turn a source's own file into a suite that asks the same. To use it in place, write `include:` in a suite."""
    from .importing import import_file

    with told():
        import_file(file, form, output)


@app.command()
def explain(
    run: Annotated[str, typer.Argument(help="The run id.")],
    places: Places,
    suite: Suites,
    bootstrap: OfTopic = None,
    json: AsJson = False,
) -> None:
    """Show what each event of a run did to each check, and why a run has no verdict."""
    from .explain import explain_run

    with told():
        explain_run(run, places, bootstrap, suite, as_json=json)


@app.command()
def capture(
    run: Annotated[str, typer.Argument(help="The run id.")],
    places: Places,
    suite: Annotated[Path, typer.Option("--suite", "-s", help="The suite whose verdicts the case is to expect.")],
    as_test: Annotated[
        Path | None, typer.Option(help="Add the case to this .test.yaml file. [default: print it]")
    ] = None,
    bootstrap: OfTopic = None,
) -> None:
    """Turn a run into a case of a suite's own tests: its story, and what is said of it now."""
    from .capture import capture_run

    with told():
        capture_run(run, places, bootstrap, suite, as_test)


@app.command()
def replay(
    place: Annotated[Path, typer.Argument(help="The journal, as kafka:TOPIC.")],
    suite: Suites,
    bootstrap: OfTopic = None,
    since: Annotated[
        str | None,
        typer.Option("--from", help="Log time from which on, like 2026-11-29T10:00Z. [default: all there is]"),
    ] = None,
    until: Annotated[str | None, typer.Option("--to", help="Log time before which. [default: now]")] = None,
    against: Annotated[
        list[Path] | None, typer.Option(help="Other suites, to see which verdicts these flip; may be repeated.")
    ] = None,
    published: Annotated[
        list[str] | None, typer.Option(help="A topic of verdicts, to compare byte for byte; may be repeated.")
    ] = None,
    write: Annotated[str | None, typer.Option(help="Write the verdicts to this topic. [default: nothing]")] = None,
    json: AsJson = False,
) -> None:
    """Grade a stretch of the journal again, beside the workers: nothing is written, and no offset is committed."""
    from .replay import Asked, replay_journal

    with told():
        replay_journal(Asked(place, suite, bootstrap, since, until, against or [], published or [], write, json))


@app.command("test")
def run_cases(
    files: Annotated[list[Path], typer.Argument(help="Suites, their .test.yaml files, or folders of them.")],
    json: AsJson = False,
) -> None:
    """Run the cases that suites bring along: told runs, and what is to be said of them."""
    from .cases import run_cases_of

    with told():
        run_cases_of(files, as_json=json)


App = Annotated[
    str, typer.Option("--app", envvar="SG_APP", help="Consumer group, and the front of the changelog's name.")
]
Names = Annotated[
    list[str] | None,
    typer.Option("--topic", help="Physical name of a topic, as agent.events.v1=NAME; may be repeated."),
]


@app.command()
def worker(
    bootstrap: Bootstrap,
    suite: Suites,
    app_id: App = "stream-graders",
    slot: Annotated[
        str,
        typer.Option(envvar="SG_SLOT", help="Names this worker in its group, the same at each start. [default: host]"),
    ] = "",
    topic: Names = None,
    metrics_port: Annotated[int, typer.Option(envvar="SG_METRICS_PORT", help="Port of /metrics; 0 for none.")] = 9808,
    metrics_host: Annotated[
        str, typer.Option(envvar="SG_METRICS_HOST", help="Address to serve them on.")
    ] = "127.0.0.1",
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Go on although records were removed ungraded; it is written down.")
    ] = False,
) -> None:
    """Grade the journal's runs live. Exit codes: 0 stopped, 2 settings, 3 fault (start again), 78 data (look first)."""
    from .worker import run_worker

    with told():
        run_worker(bootstrap, suite, app_id, slot, topic or [], metrics_port, metrics_host, accept_loss=accept_loss)


@app.command()
def sink(
    bootstrap: Bootstrap,
    to: Annotated[str, typer.Option(help="What the receiver is: alertmanager, webhook (signed) or slack.")],
    url: Annotated[str, typer.Option(envvar="SG_SINK_URL", help="The receiver's address.")],
    excerpts: Annotated[
        bool, typer.Option("--excerpts", help="Send evidence and excerpts too: words of the runs, and so of people.")
    ] = False,
    app_id: App = "stream-graders",
    topic: Names = None,
    metrics_port: Annotated[int, typer.Option(envvar="SG_METRICS_PORT", help="Port of /metrics; 0 for none.")] = 9810,
    metrics_host: Annotated[
        str, typer.Option(envvar="SG_METRICS_HOST", help="Address to serve them on.")
    ] = "127.0.0.1",
) -> None:
    """Tell people of violations: the first three runs of an agent, version and check, then how many, and what was taken back."""
    from .sink import run_sink

    with told():
        run_sink(bootstrap, to, url, app_id, topic or [], metrics_port, metrics_host, excerpts=excerpts)


@app.command()
def tail(
    bootstrap: Bootstrap,
    topic: Names = None,
    fails: Annotated[bool, typer.Option("--fails", help="Failures and errors only.")] = False,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="All that the topic holds, not only what comes.")
    ] = False,
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many. [default: when interrupted]")] = None,
    open_runs: Annotated[
        bool, typer.Option("--open", help="Show instead how the checks of open runs stand now; needs --suite.")
    ] = False,
    suite: Annotated[list[Path] | None, typer.Option("--suite", "-s", help="With --open: the workers' suites.")] = None,
    app_id: App = "stream-graders",
    json: AsJson = False,
) -> None:
    """Show verdicts as they are published, or how the checks of open runs stand."""
    from .errors import UserError
    from .tail import list_open, tail_verdicts

    with told():
        if not open_runs:
            tail_verdicts(bootstrap, topic or [], only_fails=fails, from_start=from_start, count=count, as_json=json)
        elif suite:
            list_open(bootstrap, topic or [], app_id, suite, as_json=json)
        else:
            raise UserError("--open: name the workers' suites with --suite, which read their states")


@app.command()
def doctor(
    bootstrap: Bootstrap,
    suite: Annotated[
        list[Path] | None, typer.Option("--suite", "-s", help="The workers' suites; may be repeated.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="A run id: say also why it has no verdict.")] = None,
    app_id: App = "stream-graders",
    topic: Names = None,
    json: AsJson = False,
) -> None:
    """Look at suites, Kafka, rights, topics, workers, lag, clocks and judges, and say what is wrong and what to do. Changes nothing."""
    from .doctor import Asked, examine

    with told():
        examine(Asked(bootstrap, suite or [], app_id, topic or [], run, json))


@app.command()
def chaos(
    bootstrap: Bootstrap,
    suite: Annotated[
        list[Path] | None,
        typer.Option("--suite", "-s", help="What to grade by; may be repeated. [default: a small suite]"),
    ] = None,
    events: Annotated[int, typer.Option(min=1, help="Events that the simulated agents send.")] = 20_000,
    workers: Annotated[int, typer.Option(min=1, max=16, help="Workers that are started.")] = 2,
    faults: Annotated[int, typer.Option(min=0, help="How often something befalls one of them.")] = 20,
    partitions: Annotated[int, typer.Option(min=1, help="Of the journal that is made for this.")] = 4,
    seed: Annotated[int, typer.Option(help="Of the runs, and of what befalls whom.")] = 1,
    stops: Annotated[bool, typer.Option(help="Let workers stand still too, 15 seconds at a time.")] = True,
    broker: Annotated[
        str | None, typer.Option(help="A command that kills the broker and starts it again: one fault more.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the topics, also if all is well.")] = False,
    json: AsJson = False,
) -> None:
    """Kill, stop and restart workers at work on topics of their own, and hold what they said against an undisturbed grading."""
    from .chaos import Asked, run_chaos

    with told():
        run_chaos(Asked(bootstrap, suite or [], events, workers, faults, partitions, seed, stops, broker, keep, json))


@app.command()
def demo(
    seconds: Annotated[int, typer.Option(min=1, help="How long the simulated agents work.")] = 30,
    seed: Annotated[int, typer.Option(help="Of what they say and do wrong.")] = 2,
    rate: Annotated[float, typer.Option(min=0.1, max=200, help="Conversations that begin in a second.")] = 10.0,
    judge: Annotated[
        str, typer.Option(metavar="local", help="Judge a sample of the runs too, with a small model on this machine.")
    ] = "",
) -> None:
    """Show it working: simulated agents, an embedded broker, a worker, a live view. Needs no Kafka."""
    from .demo import run_demo

    with told():
        run_demo(seconds, seed, rate, judge)


@judge_app.callback(invoke_without_command=True)
def judge(
    context: typer.Context,
    bootstrap: Annotated[
        str,
        typer.Option("--bootstrap", envvar="SG_BOOTSTRAP_SERVERS", help="Kafka's addresses, host:port with commas."),
    ] = "",
    judges: Annotated[
        Path | None, typer.Option("--judges", "-j", envvar="SG_JUDGES", help="The file of models, prices and limits.")
    ] = None,
    app_id: App = "stream-graders",
    topic: Names = None,
    metrics_port: Annotated[
        int, typer.Option(envvar="SG_JUDGE_METRICS_PORT", help="Port of /metrics; 0 for none.")
    ] = 9809,
    metrics_host: Annotated[
        str, typer.Option(envvar="SG_METRICS_HOST", help="Address to serve them on.")
    ] = "127.0.0.1",
) -> None:
    """Without a command: be the judge worker. Exit codes: 0 stopped, 2 settings, 3 fault (start again)."""
    if context.invoked_subcommand is not None:
        return
    from .errors import UserError
    from .judge import run_judge

    with told():
        if not bootstrap or judges is None:
            raise UserError("judge: name Kafka with --bootstrap and the judges' file with --judges, or give a command")
        run_judge(bootstrap, judges, app_id, topic or [], metrics_port, metrics_host)


@judge_app.command("estimate")
def judge_estimate(
    files: Annotated[
        list[Path],
        typer.Option("--from", help="Runs as they come: a file, as grade reads it (may be repeated), or kafka:TOPIC."),
    ],
    suite: Suites,
    bootstrap: OfTopic = None,
    last: Last = None,
    judges: Annotated[Path | None, typer.Option("--judges", "-j", help="The file that has the prices.")] = None,
    runs_a_day: Annotated[
        int | None, typer.Option(min=1, help="[default: as many as the files hold, or by a topic's log time]")
    ] = None,
    json: AsJson = False,
) -> None:
    """Say what judging such runs would ask, use and cost a day. Asks nobody."""
    from .judge_worth import estimate

    with told():
        estimate(files, bootstrap, last, suite, judges, runs_a_day, as_json=json)


@judge_app.command("calibrate")
def judge_calibrate(
    labels: Annotated[
        Path, typer.Argument(help="JSON Lines: label, and judge (its score) or input (what it is shown).")
    ],
    judges: Annotated[
        Path | None, typer.Option("--judges", "-j", help="Ask a judge of this file about each input.")
    ] = None,
    model: Annotated[str, typer.Option(help="Its name in that file.")] = "default",
    pass_at: Annotated[
        float | None, typer.Option(help="The score from which a run is good. [default: 3.5, or 1]")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=10, help="How often each input is asked about.")] = 3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the figures here, as JSON.")] = None,
    json: AsJson = False,
) -> None:
    """Say how far a judge agrees with people, chance-corrected. Exit code 1 if too little for a critical check."""
    from .judge_worth import calibrate

    with told():
        calibrate(labels, judges, model, pass_at, repeats, output, as_json=json)


@judge_app.command("canary")
def judge_canary(
    canary_set: Annotated[Path, typer.Argument(metavar="SET", help="The set, as --record wrote it.")],
    judges: Annotated[Path, typer.Option("--judges", "-j", envvar="SG_JUDGES", help="The judges' file.")],
    record: Annotated[bool, typer.Option("--record", help="Write the set, with today's answers.")] = False,
    items: Annotated[
        Path | None, typer.Option(help="With --record: judges' requests, or calibrate's labels; JSON Lines.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The judge's name in its file. [default: as recorded, or default]")
    ] = None,
    repeats: Annotated[int, typer.Option(min=2, max=10, help="With --record: answers to each item a day.")] = 3,
    alarm: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="How often to say that a judge changed which has not.")
    ] = 0.01,
    textfile: Annotated[
        Path | None, typer.Option(help="Write the figures here for node_exporter's textfile collector.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Ask a judge its stored set again. Exit codes: 0 as it was, 1 it answers otherwise, 3 it could not be asked."""
    from . import judge_canary
    from .errors import UserError

    with told():
        if record and items is not None:
            judge_canary.record(canary_set, items, judges, model or "default", repeats)
        elif record or items is not None:
            raise UserError("judge canary: --record and --items go together")
        else:
            judge_canary.compare(canary_set, judges, model, alarm, textfile, as_json=json)


@app.command()
def simulate(
    bootstrap: Bootstrap,
    topic: Names = None,
    rate: Annotated[float, typer.Option(min=0.1, max=200, help="Conversations that begin in a second.")] = 2.0,
    seed: Annotated[
        int | None, typer.Option(help="Of what they say and do wrong. [default: another at each start]")
    ] = None,
    environment: Annotated[str, typer.Option(help="What their events carry.")] = "demo",
) -> None:
    """Let the demo's simulated agents write to a journal, until told to stop; grade them with --suite of demo/shop.yaml."""
    from ..demo.simulate import simulate as let_work
    from .errors import Exit
    from .sharing import names_of

    with told():
        journal = names_of(topic or []).get("agent.events.v1", "agent.events.v1")
        undelivered = let_work(bootstrap, journal, rate, seed, environment)
        if undelivered:
            typer.echo(f"{undelivered} events were not delivered to {bootstrap}; does Kafka answer there?", err=True)
            leave(Exit.OUR_FAULT)


Partitions = Annotated[int | None, typer.Option(help="For every topic that has more than one.")]
Replication = Annotated[int | None, typer.Option(help="Copies of every topic; 1 on a single broker.")]


@topics_app.command("plan")
def topics_plan(
    bootstrap: Bootstrap,
    app_id: App = "stream-graders",
    topic: Names = None,
    partitions: Partitions = None,
    replication: Replication = None,
) -> None:
    """Say what is missing and what differs from the files; changes nothing. Exit code 1 unless all is as wanted."""
    from .topics import plan_topics

    with told():
        plan_topics(bootstrap, app_id, topic or [], partitions, replication)


@topics_app.command("export")
def topics_export(
    form: Annotated[str, typer.Argument(help="strimzi or asyncapi.")],
    cluster: Annotated[str, typer.Option(help="For strimzi: the name of the Kafka resource.")] = "kafka",
    app_id: App = "stream-graders",
    topic: Names = None,
    partitions: Partitions = None,
    replication: Replication = None,
) -> None:
    """Print the topics, and a worker's rights, as Strimzi's resources, or the topics as an AsyncAPI document."""
    from .topics import export_topics

    with told():
        export_topics(form, cluster, app_id, topic or [], partitions, replication)


@topics_app.command("apply")
def topics_apply(
    bootstrap: Bootstrap,
    app_id: App = "stream-graders",
    topic: Names = None,
    partitions: Partitions = None,
    replication: Replication = None,
) -> None:
    """Create the topics that are missing; say where the others differ. Deletes and changes nothing."""
    from .topics import apply_topics

    with told():
        apply_topics(bootstrap, app_id, topic or [], partitions, replication)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
