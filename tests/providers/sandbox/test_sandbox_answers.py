"""What a generation looks like at a given moment, apart from the wire."""

from decimal import Decimal

import pytest

from providers.sandbox import answers
from providers.sandbox.bill import Generation
from providers.sandbox.faults import find_fault


def generation(fault="ok", **changes):
    """Executed at 1000, done at 1100."""
    return Generation(
        **{
            "id": "gen_000000000000000002",
            "work": "image:1",
            "model": "sandbox/picture",
            "fault": find_fault(fault),
            "prompt": "a fox",
            "aspect_ratio": "1:1",
            "key_digest": "ab" * 32,
            "executed_at": 1000.0,
            "completes_at": 1100.0,
            "charged": Decimal("5.00"),
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("now", "status"),
    [(1000, "pending"), (1024, "pending"), (1026, "processing"), (1099, "processing")],
)
@pytest.mark.parametrize("fault", ["ok", "fail", "cancelled", "failed_then_completed"])
def test_pending_then_processing(fault, now, status):
    assert answers.status_of(generation(fault), now=now) == status


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("ok", "completed"),
        ("result_gone", "completed"),
        ("no_output", "completed"),
        ("fail", "failed"),
        ("fail_billed", "failed"),
        ("cancelled", "cancelled"),
        ("failed_then_completed", "failed"),
    ],
)
def test_the_end(fault, status):
    assert answers.status_of(generation(fault), now=1100) == status


def test_a_failure_once_told_is_taken_back():
    told = generation("failed_then_completed", failure_told_at=1100.0)
    assert answers.status_of(told, now=1101) == "completed"


@pytest.mark.parametrize("status", ["pending", "processing"])
def test_an_unfinished_answer_has_no_output_and_no_usage(status):
    answer = answers.media(generation(), status, base_url="http://sandbox")
    assert set(answer) == {"id", "object", "status", "created", "model"}


@pytest.mark.parametrize(("last_digit", "shape"), [("2", dict), ("3", list)])
def test_the_id_decides_the_shape_of_data(last_digit, shape):
    made = generation(id=f"gen_00000000000000000{last_digit}")
    answer = answers.media(made, "completed", base_url="http://sandbox")
    assert isinstance(answer["data"], shape)


def test_the_history_knows_three_words_only():
    words = {
        answers.history_row(generation(fault), now=now)["status"]
        for fault in ("ok", "fail", "cancelled")
        for now in (1000, 1050, 1200)
    }
    assert words == {"pending", "completed", "failed"}
