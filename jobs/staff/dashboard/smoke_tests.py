"""What the newest smoke test of each provider said."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from jobs.ops import smoke
from providers.adapters.registry import known_names
from providers.calls.models import SmokeTest


@dataclass(frozen=True)
class Tested:
    """`tone` is up or failing, and empty where nothing is known."""

    tone: str
    word: str
    why: str = ""
    at: datetime | None = None


def newest_tests() -> dict[str, SmokeTest]:
    """By provider, those with a verdict."""
    return {test.provider: test for test in SmokeTest.objects.newest_of_each(known_names())}


def tested_of(test: SmokeTest | None, now: datetime) -> Tested:
    """A good one that is too old is shown with its time, as in its alert."""
    if test is None:
        return Tested("", _("not tested yet"))
    why = smoke.describe_trouble(test, now)
    if test.is_good and why:
        return Tested("failing", _("too old"), at=test.began_at)
    if test.is_good:
        return Tested("up", _("good"), at=test.began_at)
    return Tested("failing", _("failed"), why, test.began_at)
