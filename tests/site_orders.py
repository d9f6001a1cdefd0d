"""Places orders in a running site and reads their ends, in a child process with the site's
environment. It takes one command a line (`place NAME...`, `report`, `work JOB...` as a worker
would, `redeliver JOB...` into the queue) and answers in one line.

One job a name; a name that is a fault of the sandbox is ordered with that fault, one that is an
offered model from that model.
"""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Desk:
    """The child process, seen from the test."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.child: subprocess.Popen[str] | None = None

    def ask(self, *words: str) -> dict:
        self.send(*words)
        answer = self.receive()
        assert answer, f"the child died of {words}"
        return json.loads(answer)

    def send(self, *words: str) -> None:
        if self.child is None or self.child.poll() is not None:
            self.close()
            self.child = self._start()
        assert self.child.stdin
        self.child.stdin.write(" ".join(words) + "\n")
        self.child.stdin.flush()

    def receive(self) -> str:
        """The answer's line; empty when the child died."""
        assert self.child
        assert self.child.stdout
        line = self.child.stdout.readline()
        if not line:
            self.child.wait()
        return line

    def close(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            for pipe in (self.child.stdin, self.child.stdout):
                if pipe:
                    pipe.close()
            self.child = None

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.site_orders"],
            cwd=ROOT,
            env=os.environ | self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def place(names: list[str]) -> dict[str, str]:
    """{name: job id}, on the account of the user `ana`, who is made with the operator's plan."""
    from django.contrib.auth import get_user_model
    from django.utils import timezone

    from jobs.pictures.orders import PictureOrder, order_picture
    from providers.adapters.registry import offers
    from providers.sandbox.faults import FAULTS
    from quotas import accounts
    from quotas.models import Plan

    faults = {fault.name for fault in FAULTS}
    named = {offer.model: offer for offer in offers()}
    user = get_user_model().objects.filter(username="ana").first()
    user = user or get_user_model().objects.create_superuser("ana", password="ana")
    account = accounts.account_of_user(user)
    account.plan = Plan.objects.get(name="operator")
    jobs = {}
    for name in names:
        fault = name if name in faults else ""
        order = PictureOrder(
            prompt=f"a fox, {name}",
            aspect_ratio="1:1",
            offer=named.get(name, offers()[0]),
            fault=fault,
        )
        job = order_picture(
            account=account, order=order, form_key=uuid.uuid4().hex, now=timezone.now()
        )
        jobs[name] = str(job.pk)
    return jobs


def place_long(numbers: list[str]) -> dict[str, str]:
    """The numbers are how many orders, and how long their prompts."""
    count, length = map(int, numbers)
    return place([f"{number}-{'x' * length}" for number in range(count)])


def report() -> dict[str, dict]:
    """{job id: how it stands}, for every job of the site."""
    from jobs.core.models import Job
    from providers.calls.models import Call

    calls: dict[str, list[Call]] = {}
    for call in Call.objects.order_by("pk"):
        calls.setdefault(call.work, []).append(call)
    return {
        str(job.pk): {
            "state": job.state,
            "reason": job.reason,
            "attempt": job.attempt.state,
            "calls": [call.state for call in calls.get(f"image:{job.pk}", [])],
            "rules": [call.rule for call in calls.get(f"image:{job.pk}", [])],
            "models": [call.model for call in calls.get(f"image:{job.pk}", [])],
            "allowed_by": [call.after_rule for call in calls.get(f"image:{job.pk}", [])],
            "events": [event.name for event in job.events.order_by("pk")],
            "pictures": [picture.file for picture in job.pictures.all()],
        }
        for job in Job.objects.select_related("attempt")
    }


def work(jobs: list[str]) -> list[str]:
    from tests import working

    for job in jobs:
        working.advance(uuid.UUID(job))
    return jobs


def redeliver(jobs: list[str]) -> list[bool]:
    from jobs.core import queue
    from jobs.core.models import Stage

    stages = Stage.objects.filter(job__in=jobs).values_list("pk", flat=True)
    return [queue.enqueue(stage) for stage in stages for _ in range(3)]


def main() -> None:
    import django

    django.setup()
    for line in sys.stdin:
        command, *names = line.split()
        commands = {
            "place": place,
            "place_long": place_long,
            "work": work,
            "redeliver": redeliver,
        }
        answer = commands[command](names) if command in commands else report()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
