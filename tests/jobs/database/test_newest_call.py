"""An older state of the database that PostgreSQL's own tools put back is noticed at the start."""

import pytest

from config.supervisor import preflight
from config.supervisor.preflight import CannotStart
from jobs.core import heartbeats
from jobs.core.models import Job
from jobs.database.newest_call import NewestCall, calls_are_missing
from providers.calls.models import Call, Restore
from quotas import identity
from quotas.models import Site
from tests import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "clock")]


@pytest.fixture(autouse=True)
def folder(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(identity, "_known", "")
    settings.DATA_DIR = tmp_path


@pytest.fixture
def older(account, now) -> Job:
    """A job is queued, and a call that was sent after that state has no row."""
    job = rows.queued(account, now)
    rows.lost(account, now)
    NewestCall().note()
    Call.objects.all().delete()
    return job


def test_an_older_state_is_treated_as_restored(older, capsys):
    preflight.take_over_older_state()
    assert (rows.again(older).state, Restore.objects.count()) == ("cancelled", 1)
    assert "is older than what this site has sent" in capsys.readouterr().err
    assert not calls_are_missing()


def test_it_is_refused_while_a_site_runs_on_it(older, monkeypatch):
    monkeypatch.setattr(heartbeats, "ticker_is_beating", lambda: True)
    with pytest.raises(CannotStart, match="while a site is running on"):
        preflight.take_over_older_state()
    assert rows.again(older).state == "queued"


def test_the_present_state_is_left_alone(account, now):
    rows.lost(account, now)
    NewestCall().note()
    rows.lost(account, now)
    preflight.take_over_older_state()
    assert not Restore.objects.exists()


def test_another_database_is_not_an_older_state_of_this_one(older, monkeypatch):
    Site.objects.update(name="another")
    monkeypatch.setattr(identity, "_known", "")
    assert not calls_are_missing()
