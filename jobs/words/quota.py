"""Slots as the pages show them: a balance, the slot of one job, why there is none."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.words.wording import day_in_words, duration_in_words
from quotas import ledger
from quotas.days import utc_day
from quotas.ledger import Balance, Refused
from quotas.models import Account, Attempt, Kind
from quotas.states import AttemptState


@dataclass(frozen=True)
class Quota:
    """A balance as it is drawn: three numbers, a bar in per cent, the time to the renewal."""

    balance: Balance
    now: datetime

    @property
    def used_percent(self) -> int:
        return self._percent(self.balance.used)

    @property
    def on_hold_percent(self) -> int:
        return self._percent(self.balance.on_hold)

    @property
    def renews_in(self) -> timedelta:
        return self.balance.renews_at - self.now

    @property
    def refuses_tries(self) -> bool:
        """Slots are left, but too many tries of the day may have cost money."""
        return self.balance.left > 0 and self.balance.tries >= self.balance.most_tries

    @property
    def refusal(self) -> str:
        return "" if self.is_open else refusal_in_words(self.balance, self.now)

    @property
    def is_open(self) -> bool:
        return self.balance.left > 0 and not self.refuses_tries

    def _percent(self, slots: int) -> int:
        whole = max(self.balance.allowed, self.balance.used + self.balance.on_hold)
        return round(100 * slots / whole) if whole else 0


def read_quota(account: Account, kind: str) -> Quota:
    now = timezone.now()
    return Quota(ledger.read_balance(account, kind, ledger.utc_day(now)), now)


def slot_in_words(attempt: Attempt | None, now: datetime) -> str:
    """The state of the slot, from its row; empty for a job without one."""
    if attempt is None:
        return ""
    if attempt.state == AttemptState.FAILED:
        return _("Your slot was given back.")
    if attempt.state == AttemptState.SUCCESS:
        return _("Your slot was used.")
    day = {"day": day_in_words(attempt.day)}
    if attempt.day == utc_day(now):
        return _("Your slot for %(day)s stays on hold until 00:00 UTC.") % day
    return _("The slot was for %(day)s and does not count against today's.") % day


def refusal_in_words(balance: Balance, now: datetime) -> str:
    """Why no slot is to be had today, and when that changes."""
    renewal = _("Your slots renew at 00:00 UTC, in %(duration)s.") % {
        "duration": duration_in_words(balance.renews_at - now)
    }
    if balance.left:
        return (
            _(
                "Too many of today's tries failed and may have cost money. You cannot start "
                "another today."
            )
            + f" {renewal}"
        )
    if balance.on_hold:
        says = _("All %(allowed)s of today's slots are used or on hold.") % {
            "allowed": balance.allowed
        }
    elif balance.allowed:
        says = _("You have used all %(allowed)s of today's slots.") % {"allowed": balance.allowed}
    else:
        return _("Your plan includes no %(kind)s.") % {"kind": Kind(balance.kind).label}
    return f"{says} {renewal}"


def refused_in_words(refused: Refused, now: datetime) -> str:
    """Why an order was refused, as it stood then: the quota beside it may have changed since."""
    if refused.why == "closed":
        return _("You opened this form before you signed in. Send it again.")
    if refused.why == "new_visitors":
        return new_visitor_refused_in_words(refused.balance, now)
    if refused.balance.left and refused.why != "too_many_tries":
        return _("We could not reserve a slot just now. Send your request again.")
    return refusal_in_words(refused.balance, now)


def new_visitor_refused_in_words(balance: Balance, now: datetime) -> str:
    """Said to a visitor who is new; signing in is the way on."""
    if not settings.NEW_VISITORS_A_DAY:
        return _("You need an account to make pictures on this site.")
    says = _("Your network has reached today's limit for new visitors.")
    return f"{says} " + _("It resets at 00:00 UTC, in %(duration)s.") % {
        "duration": duration_in_words(balance.renews_at - now)
    }
