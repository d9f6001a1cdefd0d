"""Every address answers whatever is sent to it. `python -m tests.fuzz` does so for longer."""

import pytest

from tests.fuzz.run import TRACE, Result, run

pytestmark = pytest.mark.site
SECONDS = 8


def test_no_request_is_a_fault_of_ours(each_database, tmp_path):
    result = run(each_database, tmp_path, seconds=SECONDS, seed=1)
    print("\n".join(result.lines()))
    assert result.sent > result.addresses
    assert result.is_clean, (result.lines(), result.faults, result.log[-5000:])


@pytest.mark.parametrize(
    "found", [{"unanswered": 1}, {"tracebacks": 1}, {"staff_status": 302}, {"status": 500}]
)
def test_each_fault_is_one(found):
    result = Result(staff_status=200)
    assert result.is_clean
    result.statuses[found.pop("status", 200)] += 1
    for name, value in found.items():
        setattr(result, name, value)
    assert not result.is_clean


@pytest.mark.parametrize(
    "log",
    [
        'Traceback (most recent call last):\n  File "x.py", line 1\nValueError\n',
        '2026-11-30 ERROR django.request: Broken: /\n  File "x.py", line 1\n    a\nValueError\n',
    ],
)
def test_a_traceback_is_found_in_either_shape(log):
    assert len(TRACE.findall(log)) == 1
    assert not TRACE.findall("2026-11-30 WARNING django.request: Not Found: /x\n")
