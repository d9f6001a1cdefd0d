"""Nothing a person wrote and no key reaches a log line by way of an error's text."""

import logging
import sys

import pytest

from config.logs import Formatter
from jobs import tasks

SECRET = "a prompt about my divorce"


def line_of(raised: Exception) -> str:
    try:
        raise raised
    except Exception:
        record = logging.LogRecord(
            "jobs", logging.ERROR, __file__, 1, "Stage %s failed", ("x",), None
        )
        record.exc_info = sys.exc_info()
    return Formatter("%(message)s").format(record)


def test_a_traceback_names_classes_and_places_without_texts():
    line = line_of(ValueError(SECRET))
    assert SECRET not in line
    assert "ValueError" in line
    assert "test_logs.py" in line


def test_the_errors_below_are_named_too():
    error = RuntimeError(SECRET)
    error.__cause__ = KeyError(SECRET)
    line = line_of(error)
    assert SECRET not in line
    assert line.index("KeyError") < line.index("RuntimeError")


@pytest.mark.django_db
def test_a_task_that_fails_logs_no_text_and_does_not_raise(monkeypatch, caplog):
    def fail(job_id):
        raise ValueError(SECRET)

    monkeypatch.setattr("jobs.tasks.engine.advance", fail)
    tasks.advance("0" * 32)
    assert "ValueError" in caplog.text
    assert SECRET not in caplog.text
