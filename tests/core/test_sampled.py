"""A weighted sample says what all runs would have said (judges.md 5.9, 10)."""

import random

from stream_graders.scoring.sampled import weighted_mean
from stream_graders.suites import Judging


def test_the_mean_of_a_sample_lies_around_that_of_all_runs_though_every_failure_is_in_it() -> None:
    drawn = random.Random(3)
    judging = Judging(sample=0.1)
    quality = {f"run-{n}": min(5.0, max(0.0, drawn.gauss(3.8, 0.8))) for n in range(20_000)}
    truth = sum(quality.values()) / len(quality)
    sample = [
        (score, 1.0 if score < 2.5 else judging.sample)
        for run_id, score in quality.items()
        if score < 2.5 or judging.drawn(run_id)
    ]
    mean = weighted_mean(sample)
    assert mean is not None
    assert mean.low <= truth <= mean.high
    assert mean.high - mean.low < 0.15
    bare = sum(score for score, _ in sample) / len(sample)
    assert bare < mean.low, "without weights a sample of failures reads as bad quality"


def test_a_sample_that_holds_all_runs_leaves_no_doubt() -> None:
    mean = weighted_mean([(1.0, 1.0), (0.0, 1.0)])
    assert mean is not None
    assert (mean.value, mean.low, mean.high, mean.runs) == (0.5, 0.5, 0.5, 2.0)
    assert weighted_mean([]) is None


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    drawn = random.Random(11)
    values = [drawn.random() for _ in range(2_000)]
    truth = sum(values) / len(values)
    held = 0
    for _ in range(200):
        mean = weighted_mean([(value, 0.05) for value in values if drawn.random() < 0.05])
        assert mean is not None
        held += mean.low <= truth <= mean.high
    assert 180 <= held <= 200
