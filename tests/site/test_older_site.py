"""A site written by the last commit before the migrations were squashed: it migrates, nothing is
lost, and what was going on continues and ends. `tests/fixtures/make_0_1.py` wrote the rows.
"""

import gzip
import hashlib
import json
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests import databases
from tests.databases import ROOT, Database

FIXTURE = ROOT / "tests" / "fixtures" / "site_0_1"
TABLES = (
    "auth_user",
    "django_q_schedule",
    "jobs_event",
    "jobs_job",
    "jobs_picture",
    "jobs_staffaction",
    "jobs_stage",
    "jobs_unreadresult",
    "providers_call",
    "providers_gate",
    "providers_hook",
    "providers_restore",
    "providers_smoketest",
    "quotas_account",
    "quotas_alert",
    "quotas_allowance",
    "quotas_attempt",
    "quotas_grant",
    "quotas_newcomer",
    "quotas_plan",
    "quotas_site",
    "quotas_unmeasured",
)
# What must be the same after the migration, to the last row.
KEPT = {
    "slots": "SELECT id, account_id, kind, day, slot, allowed, state, cost_nothing"
    " FROM quotas_attempt ORDER BY id",
    "jobs": "SELECT id, account_id, attempt_id, state, reason, version, prompt, created_at,"
    " ended_at FROM jobs_job ORDER BY id",
    "calls": "SELECT id, provider, model, state, reference, sent_at, deadline_at, give_up_at,"
    " poll_at, late_outcome, hook_token, currency FROM providers_call ORDER BY id",
    "costs": "SELECT provider, currency, round(sum(cost), 4), round(sum(cost_estimate), 4)"
    " FROM providers_call GROUP BY provider, currency",
    "pictures": "SELECT id, job_id, call_id, position, file, size, sha256 FROM jobs_picture"
    " ORDER BY id",
    "grants": "SELECT account_id, kind, day, slots, reason, granted_by_id FROM quotas_grant",
    "accounts": "SELECT id, user_id, visitor, name, plan_id, closed_at, moved_to_id"
    " FROM quotas_account ORDER BY id",
    "alerts": "SELECT kind, subject, opened_at, closed_at FROM quotas_alert ORDER BY id",
    "decisions": "SELECT subject, reason, by_name, at FROM jobs_staffaction ORDER BY id",
    "leases": "SELECT job_id, name, call_id, due_at, leased_until, tries, done_at FROM jobs_stage"
    " ORDER BY id",
}
READY = ["ready", "", "success", 1]
# Delivered after its slot had been given back.
READY_LATE = ["ready", "", "failed", 1]
LOST = ["in_doubt", "transport", "pending", 0]
# By the name of a job that was still going on, how it ends within an hour.
ENDS = {
    "queued": READY,
    "busy": READY,
    "waits its turn": READY,
    "set aside": READY,
    "lapsed lease, nothing sent": READY,
    "generating": READY,
    "generating, moved": READY,
    "generating by a fallback": READY,
    "generating, of a deleted user": READY,
    "unwanted": READY,
    "overdue": READY,
    "overdue, checked by staff": READY,
    "silent": READY,
    "sending, named by its headers": READY,
    "lost, named by a webhook": READY,
    "lost, id attached": READY,
    "unread result": READY,
    "saving, bare base64": READY,
    "saving, data address": READY,
    "saving, address": READY,
    "lapsed lease, saving": READY,
    "waits for room": READY,
    "not confirmed, made late, to be saved": READY,
    "failed, made late, to be saved": READY_LATE,
    "rejected, accepted late": READY_LATE,
    "sending": LOST,
    "sending, overdue": LOST,
    "lapsed lease, sending": LOST,
    "lost": LOST,
    "unknown, model paused": LOST,
}
# Nothing had been sent for these when the site stopped.
SENT_SINCE = 5


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def older(request, tmp_path):
    """The database as it was written, not migrated yet."""
    (tmp_path / "data").mkdir(mode=0o700)
    with tarfile.open(FIXTURE / "media.tar.gz") as archive:
        archive.extractall(tmp_path / "data", filter="data")
    if request.param == "sqlite":
        file = tmp_path / "older.sqlite3"
        file.write_bytes(gzip.decompress((FIXTURE / "sqlite3.gz").read_bytes()))
        yield Database("sqlite", f"sqlite:///{file}")
        return
    with databases.postgres_copy(request.getfixturevalue("postgres_url")) as database:
        with closing(psycopg.connect(database.url, autocommit=True)) as connection:
            connection.execute((FIXTURE / "postgres.sql").read_text(encoding="utf-8"))
        yield database


def test_it_migrates_continues_and_ends(older, tmp_path):
    data = tmp_path / "data"
    before = contents(older)
    counts = count_rows(older)
    databases.migrate(older, data)
    assert contents(older) == before
    assert count_rows(older) == counts
    assert no_violation(older, data)
    files = hashes_of(data / "media")
    kept = {row[4]: row[6] for row in before["pictures"]}
    assert kept.items() <= files.items()

    report = go_on(older, data)
    ends = {name: report["soon"].get(name) for name in ENDS}
    assert ends == ENDS
    assert report["sent"] == SENT_SINCE
    for name, end in report["later"].items():
        lost_for_good = ["not_confirmed", "deadline", "pending", 0]
        assert end == (lost_for_good if ENDS.get(name) == LOST else report["soon"][name]), name
    after = contents(older)
    gone = files.items() - hashes_of(data / "media").items()
    assert gone <= unread_among(files) | delivered_among(files, after)
    nothing_fell(before, after)


def contents(database: Database) -> dict[str, list[tuple]]:
    return {name: query(database, statement) for name, statement in KEPT.items()}


def count_rows(database: Database) -> dict[str, int]:
    return {table: query(database, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}


def query(database: Database, statement: str) -> list[tuple]:
    if database.vendor == "sqlite":
        opened = sqlite3.connect(database.url.removeprefix("sqlite:///"))
    else:
        opened = psycopg.connect(database.url)
    with closing(opened) as connection:
        return connection.execute(statement).fetchall()


def hashes_of(media: Path) -> dict[str, str]:
    return {
        str(file.relative_to(media)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in media.rglob("*")
        if file.is_file()
    }


def unread_among(files: dict[str, str]) -> set[tuple[str, str]]:
    """What could not be read, which goes once the result is delivered."""
    return {(name, sha256) for name, sha256 in files.items() if name.startswith("unread/")}


def delivered_among(files: dict[str, str], after: dict) -> set[tuple[str, str]]:
    """Bytes that came inside an answer, which go once they are a picture."""
    pictures = {row[6] for row in after["pictures"]}
    results = {(name, sha256) for name, sha256 in files.items() if name.startswith("results/")}
    return {(name, sha256) for name, sha256 in results if sha256 in pictures}


def nothing_fell(before: dict, after: dict) -> None:
    """Ended attempts stay as they ended; no picture and no cost has gone."""
    ended = {row[0]: row for row in before["slots"] if row[6] != "pending"}
    assert ended == {row[0]: row for row in after["slots"] if row[0] in ended}
    assert {row[0] for row in before["slots"]} == {row[0] for row in after["slots"]}
    assert set(before["pictures"]) <= set(after["pictures"])
    assert {row[0] for row in before["calls"]} <= {row[0] for row in after["calls"]}
    assert before["grants"] == after["grants"]
    assert float(after["costs"][0][2]) >= float(before["costs"][0][2])


def no_violation(database: Database, data: Path) -> bool:
    return run(database, data, "manage.py", "audit", "--deep") == "audit: no violation\n"


def go_on(database: Database, data: Path) -> dict:
    return json.loads(run(database, data, "-m", "tests.site.older_site"))


def run(database: Database, data: Path, *arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=database.environment(data),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
