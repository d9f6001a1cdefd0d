"""The facts that an action page shows as a table. No prompt, and no text of a provider but its last
answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from providers.calls.models import Call
from providers.calls.money import format_amount
from providers.calls.states import CallState


@dataclass(frozen=True)
class Table:
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """A single row is shown as a list of head and cell."""
        return list(zip(self.heads, self.rows[0], strict=True)) if len(self.rows) == 1 else []

    def with_remarks(self, remarks: Sequence[str]) -> "Table":
        """With a column for the reason why a row is not changed, where there is any."""
        if not any(remarks):
            return self
        rows = [[*row, why or "–"] for row, why in zip(self.rows, remarks, strict=True)]
        return Table([*self.heads, _("Not changed, because")], rows)


def table_of_calls(calls: Sequence[Call], now: datetime) -> Table:
    heads = [
        _("Call"),
        _("Work"),
        _("Provider"),
        _("State"),
        _("Provider's id"),
        _("Sent"),
        _("Last check"),
        _("Last answer"),
        _("Next check"),
        _("Checked until"),
        _("Estimate"),
    ]
    return Table(heads, [_row_of_call(call, now) for call in calls])


def _row_of_call(call: Call, now: datetime) -> list[str]:
    return [
        str(call.pk),
        call.work,
        f"{call.provider}:{call.model}",
        _state(call, now),
        call.reference or "–",
        _("%(time)s, %(age)s ago")
        % {"time": moment(call.sent_at), "age": timesince(call.sent_at, now)},
        moment(call.polled_at),
        call.last_answer or "–",
        moment(call.poll_at),
        moment(call.give_up_at),
        estimate(call),
    ]


def _state(call: Call, now: datetime) -> str:
    state = str(CallState(call.state).label)
    return _("%(state)s, in doubt") % {"state": state} if call.is_in_doubt(now) else state


def estimate(call: Call) -> str:
    if call.cost_estimate is None:
        return _("without a price")
    return f"{format_amount(call.cost_estimate)} {call.currency}"


def end_stays() -> str:
    return _("A call that has ended stays as it ended. If it made a picture, we deliver it.")


def moment(at: datetime | None) -> str:
    """To the second, so that staff can compare it with other records."""
    return "–" if at is None else f"{at:%d %b %H:%M:%S} UTC"
