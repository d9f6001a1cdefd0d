"""Case 03: the address of a result expires; each answer of the provider has a new one."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.core.models import Stage
from jobs.engine import incoming
from jobs.ops import audit
from jobs.pictures import saving
from jobs.staff.actions import check
from jobs.staff.actions.base import Decision
from providers.calls import result_files
from providers.calls.models import Call
from providers.outcomes import Artifact, Cause, Done, NoAnswer, Running
from providers.wire.picture_files import Fetched
from tests import working
from tests.adapter_limits import RETENTION
from tests.fakes import png

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

ADDRESS = "https://files.test/g1?exp={}"


@pytest.fixture
def host(monkeypatch):
    """What each address answers, a picture or a status; notes the requests."""
    served: dict[str, object] = {}
    asked: list[str] = []

    def fetch(artifact, **_options):
        asked.append(artifact.url)
        answer = served.get(artifact.url, 403)
        if isinstance(answer, saving.DownloadRefused):
            return answer
        if answer == 200:
            return Fetched(png(), "image/png", "png", 8, 6)
        return saving.NotFetched("refused_by_host", expired=answer in (403, 404, 410))

    monkeypatch.setattr(saving.download, "fetch", fetch)
    fetch.served, fetch.asked = served, asked
    return fetch


@pytest.fixture
def made(order, fake):
    """A job whose run ended with the first address; polls then name the `newest`."""
    job = order()
    working.advance(job.pk)
    done = Done((Artifact(url=ADDRESS.format(1)),))
    incoming.apply(Call.objects.get(), done, timezone.now())
    return job


def lists(fake, number):
    fake.polls["run-1"] = Done((Artifact(url=ADDRESS.format(number)),))


def state(job):
    job.refresh_from_db()
    return job.state


@pytest.mark.parametrize("why", ["address", "too_many_redirects"])
def test_address_that_leads_nowhere_is_renewed_once(made, fake, host, why):
    """As where a host sends whoever comes too late to a page to sign in."""
    host.served |= {ADDRESS.format(1): saving.DownloadRefused(why), ADDRESS.format(2): 200}
    lists(fake, 2)
    working.advance(made.pk)
    assert (state(made), len(host.asked)) == ("ready", 2)


def test_address_that_stays_refused_ends_at_once(made, fake, host):
    host.served |= {ADDRESS.format(number): saving.DownloadRefused("address") for number in (1, 2)}
    lists(fake, 2)
    working.advance(made.pk)
    assert (state(made), made.reason, len(host.asked)) == ("failed", "not_fetched", 2)


@pytest.mark.parametrize("status", [403, 404, 410])
def test_fresh_address_is_used_in_the_same_run(made, fake, host, status):
    host.served |= {ADDRESS.format(1): status, ADDRESS.format(2): 200}
    lists(fake, 2)
    working.advance(made.pk)
    assert (state(made), host.asked) == ("ready", [ADDRESS.format(1), ADDRESS.format(2)])


def test_every_later_try_asks_for_the_newest_address(made, fake, host, clock):
    host.served |= {ADDRESS.format(1): 503}
    working.advance(made.pk)
    assert state(made) == "running"
    host.served |= {ADDRESS.format(2): 200}
    lists(fake, 2)
    clock.shift(timedelta(seconds=5))
    working.advance(made.pk)
    assert (state(made), host.asked[-1]) == ("ready", ADDRESS.format(2))


def test_check_now_uses_a_fresh_address_at_once(made, fake, host, clock, staff):
    lists(fake, 1)
    for _ in range(5):
        working.advance(made.pk)
        clock.move_to(Stage.objects.get(name="save").due_at)
    working.advance(made.pk)
    lists(fake, 2)
    host.served |= {ADDRESS.format(2): 200}
    check_now(staff)
    working.advance(made.pk)
    assert state(made) == "ready"


def test_check_now_saves_a_result_that_was_given_up(made, fake, host, clock, settings, staff):
    clock.shift(RETENTION)
    working.advance(made.pk)
    assert (state(made), made.reason) == ("failed", "not_fetched")
    lists(fake, 2)
    host.served |= {ADDRESS.format(2): 200}
    check_now(staff)
    working.advance(made.pk)
    assert state(made) == "ready"


def check_now(user):
    decision = Decision(user, "it should be there", timezone.now())
    check.run([Call.objects.get().pk], decision)


@pytest.mark.parametrize(
    "says", [Running("processing"), NoAnswer(Cause("provider", http=404)), NoAnswer(Cause("rate"))]
)
def test_refused_address_ends_nothing_before_the_end_of_retention(
    made, fake, host, clock, settings, says
):
    fake.polls["run-1"] = says
    ends_at = Call.objects.get().ended_at + RETENTION
    host.served[ADDRESS.format(1)] = 404
    for _ in range(12):
        working.advance(made.pk)
        clock.move_to(Stage.objects.get(name="save").due_at)
    clock.move_to(ends_at - timedelta(seconds=1))
    working.advance(made.pk)
    assert state(made) == "running"
    clock.move_to(ends_at)
    working.advance(made.pk)
    assert (state(made), made.reason) == ("failed", "not_fetched")


def test_address_is_not_asked_for_while_polls_are_paused(made, fake, host, clock):
    host.served[ADDRESS.format(1)] = 403
    fake.polls["run-1"] = NoAnswer(Cause("rate", http=429, retry_after=600.0))
    working.advance(made.pk)
    asked = len(fake.asked)
    clock.shift(timedelta(seconds=5))
    working.advance(made.pk)
    assert len(fake.asked) == asked


def test_staff_are_told_of_a_result_that_nothing_fetches(made, fake, host, clock):
    from jobs.alerts import watch
    from quotas.models import Alert

    working.advance(made.pk)
    clock.shift(timedelta(minutes=11))
    watch.look(timezone.now())
    assert Alert.objects.get(kind="unread").subject == "fake"


def test_missing_one_of_several_is_fetched_later_and_the_good_one_at_once(
    made, fake, host, clock, settings
):
    both = Done((Artifact(url=ADDRESS.format(1)), Artifact(url=ADDRESS.format(2))))
    fake.polls["run-1"] = both
    result_files.write_rows(Call.objects.get().pk, both.artifacts)
    host.served |= {ADDRESS.format(1): 200, ADDRESS.format(2): 503}
    working.advance(made.pk)
    assert (state(made), made.pictures.count()) == ("ready", 1)
    assert list(audit.violations(timezone.now(), deep=True)) == []
    clock.shift(RETENTION)
    working.advance(made.pk)
    assert (state(made), made.pictures.count()) == ("ready", 1)
    assert not Stage.objects.unfinished().exists()
