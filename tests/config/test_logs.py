"""Nothing a person wrote and no key reaches a log line by way of an error's text."""

import copy
import io
import logging
import logging.config
import sys
from datetime import timedelta

import pytest
import time_machine
from django.db import InterfaceError, OperationalError
from django.test import Client

from config.logs import REFUSALS_A_MINUTE, Formatter
from jobs.processes import tasks
from quotas.ratelimit.limiter import Limited, Rule

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


@pytest.fixture
def lines(settings, now):
    """lines(many, send): what so many requests have written to the console of the site."""
    written = io.StringIO()
    config = copy.deepcopy(settings.LOGGING)
    config["handlers"]["console"]["stream"] = written
    with time_machine.travel(now, tick=False) as clock:
        logging.config.dictConfig(config)

        def sent(many: int, send) -> list[str]:
            for _ in range(many):
                send()
            clock.shift(60)
            send()
            return written.getvalue().splitlines()

        yield sent
    logging.config.dictConfig(settings.LOGGING)


REFUSED = {
    "too many": lambda: Client().get("/theme"),
    "nowhere": lambda: Client().get("/nowhere"),
    "another host": lambda: Client(SERVER_NAME="evil.example").get("/"),
    "no token": lambda: Client(enforce_csrf_checks=True).post("/theme"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("what", REFUSED)
def test_a_flood_of_refusals_writes_a_few_lines_and_how_many_it_was(lines, monkeypatch, what):
    if what == "too many":
        limited = Limited(Rule("pages", 100, timedelta(minutes=1)), 60)
        monkeypatch.setattr("quotas.ratelimit.limiter.Limiter.check", lambda *_: limited)
    stamped = [
        line
        for line in lines(REFUSALS_A_MINUTE + 40, REFUSED[what])
        if " WARN" in line or " ERROR" in line
    ]
    assert len(stamped) == REFUSALS_A_MINUTE + 1
    assert stamped[-1].endswith("(40 more were refused without a line)")


def test_what_broke_is_logged_each_time(lines):
    fail = {"status_code": 500}
    told = lines(200, lambda: logging.getLogger("django.request").error("Broken", extra=fail))
    assert len(told) == 201


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_an_outage_of_the_database_leaves_no_traceback(lines, error):
    def send() -> None:
        try:
            raise error(SECRET)
        except error:
            logging.getLogger("django-q").exception("No task from %s", "the queue")

    told = lines(1, send)
    assert len(told) == 2
    assert told[0].endswith(f"No task from the queue ({error.__name__})")


@pytest.mark.django_db
def test_a_task_that_fails_logs_no_text_and_does_not_raise(monkeypatch, caplog):
    def fail(stage_id):
        raise ValueError(SECRET)

    monkeypatch.setattr("jobs.processes.tasks.engine.advance", fail)
    tasks.advance(1)
    assert "ValueError" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/hooks/polza/{}/more", "/hooks//{}/"])
def test_the_token_of_a_hook_is_in_no_line(caplog, path):
    token = "t0ken" * 60
    Client().post(path.format(token))
    assert caplog.records
    assert not any(token in Formatter("%(message)s").format(line) for line in caplog.records)
