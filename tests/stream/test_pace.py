"""When fetches wait for more, and when they do not."""

from stream_graders.stream.batching import EAGER, Pace


def test_it_begins_eager_and_turns_patient_under_a_small_load() -> None:
    pace = Pace(0.0)
    assert not pace.is_patient
    pace.note(EAGER // 2, 0.9)
    assert not pace.is_patient, "it is asked once a second"
    pace.note(0, 1.0)
    assert pace.is_patient


def test_a_load_that_grows_is_met_within_a_second() -> None:
    pace = Pace(0.0)
    pace.note(0, 1.0)
    for tenth in range(1, 11):
        pace.note(EAGER // 10, 1.0 + tenth / 10)
    assert not pace.is_patient


def test_after_a_pause_the_rate_is_that_of_the_whole_time() -> None:
    pace = Pace(0.0)
    pace.note(EAGER, 4.0)
    assert pace.is_patient
