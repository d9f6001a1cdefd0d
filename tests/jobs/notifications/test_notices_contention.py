"""Processes that send the same mails at the same time."""

from dataclasses import dataclass
from pathlib import Path

from tests.databases import Database
from tests.postbox import Postbox
from tests.quotas.test_contention import contend, errors_in

# As in tests/jobs/mailers.py, which is a program.
JOBS, PROCESSES = 12, 4


@dataclass(frozen=True)
class Mailing(Database):
    """A database whose processes send their mail to a port of this machine."""

    port: int

    def environment(self, data_dir: Path) -> dict[str, str]:
        return super().environment(data_dir) | {
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(self.port),
            "EMAIL_TLS": "no",
            "DEFAULT_FROM_EMAIL": "site@example.org",
        }


def test_a_mail_is_sent_once_whoever_races(each_database, tmp_path):
    with Postbox() as postbox:
        database = Mailing(each_database.vendor, each_database.url, postbox.port)
        answers = contend(database, "send", tmp_path, module="tests.jobs.mailers")
        taken = [message["Message-ID"] for message in postbox.taken]
    assert errors_in(answers) == []
    assert [answer["found"] for answer in answers] == [JOBS] * PROCESSES
    assert sum(answer["sent"] for answer in answers) == len(taken) == len(set(taken)) == JOBS
