"""The call ledger: one row a request to a provider, committed before the request leaves.

`call_wall` lets the database itself refuse a second payment for a work while an earlier one is
running, unknown or done. Outcome and money are separate columns.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime

from django.db import models
from django.db.models import Q, Subquery
from django.utils.translation import gettext_lazy as _

from providers.calls.states import ENDS, LIVE, WALL, CallState
from providers.reasons import Reason, Rule

WALL_STATES = sorted(WALL)
LIVE_STATES = sorted(LIVE)
END_STATES = sorted(ENDS)


def new_token() -> str:
    return secrets.token_urlsafe(32)


class CallQuerySet(models.QuerySet["Call"]):
    def due(self, now: datetime) -> "CallQuerySet":
        """Calls that may bring news and are due for a poll."""
        return self.filter(poll_at__lte=now).order_by("poll_at")

    def live(self) -> "CallQuerySet":
        """Read by the index on state, or that of those that are looked at, as all of them are."""
        return self.unsuccessful().filter(state__in=LIVE_STATES, poll_at__isnull=False)

    def in_doubt(self, now: datetime) -> "CallQuerySet":
        return self.live().filter(
            Q(state=CallState.UNKNOWN)
            | Q(state=CallState.ACCEPTED, deadline_at__lte=now)
            | Q(state=CallState.SENDING, answer_by__lte=now)
        )

    def may_have_cost(self) -> "CallQuerySet":
        """All but those that ended by evidence and cost nothing by the provider's word."""
        return self.exclude(state__in=[CallState.REJECTED, CallState.FAILED], cost=0)

    def unsuccessful(self) -> "CallQuerySet":
        """Read by the index on state, which leaves out the many that succeeded."""
        return self.exclude(state=CallState.SUCCEEDED)

    def of_work(self, work: str) -> "CallQuerySet":
        return self.filter(work=work).order_by("pk")


class Call(models.Model):
    work = models.CharField(_("work"), max_length=100)
    provider = models.CharField(_("provider"), max_length=40)
    model = models.CharField(_("model"), max_length=200)
    state = models.CharField(_("state"), max_length=10, choices=CallState.choices)
    reference = models.CharField(_("provider's id"), max_length=200, null=True, blank=True)  # noqa: DJ001

    after = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name=_("fallback after"),
    )
    after_rule = models.CharField(
        _("rule that allowed it"), max_length=40, blank=True, choices=Rule.choices
    )
    key_mark = models.CharField(max_length=16, blank=True, editable=False)
    hook_token = models.CharField(max_length=43, editable=False, default=new_token)

    sent_at = models.DateTimeField(_("sent"))
    send_by = models.DateTimeField(_("must be sent by"))
    answer_by = models.DateTimeField(_("answer to the request expected by"))
    deadline_at = models.DateTimeField(_("in doubt from"))
    give_up_at = models.DateTimeField(_("checked until"))
    accepted_at = models.DateTimeField(_("accepted"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    poll_at = models.DateTimeField(_("next check"), null=True, blank=True)
    again_at = models.DateTimeField(_("may be checked again from"), null=True, blank=True)
    polled_at = models.DateTimeField(_("last check"), null=True, blank=True)
    no_output_at = models.DateTimeField(_("complete without output since"), null=True, blank=True)
    last_answer = models.CharField(_("last answer"), max_length=120, blank=True)

    why = models.CharField(_("reason"), max_length=20, blank=True, choices=Reason.choices)
    rule = models.CharField(_("rule"), max_length=40, blank=True, choices=Rule.choices)
    http_status = models.PositiveSmallIntegerField(_("HTTP status"), null=True, blank=True)
    code = models.CharField(_("provider's code"), max_length=80, blank=True)
    detail = models.CharField(_("for the log"), max_length=500, blank=True)

    cost = models.DecimalField(_("cost"), max_digits=16, decimal_places=8, null=True, blank=True)
    cost_estimate = models.DecimalField(
        _("estimate"), max_digits=16, decimal_places=8, null=True, blank=True
    )
    currency = models.CharField(_("currency"), max_length=3, blank=True)
    late_outcome = models.CharField(_("late outcome"), max_length=20, blank=True)
    late_at = models.DateTimeField(_("late outcome at"), null=True, blank=True)

    objects = CallQuerySet.as_manager()

    class Meta:
        verbose_name = _("call")
        verbose_name_plural = _("calls")
        constraints = [
            # The wall: one live or paid call a work.
            models.UniqueConstraint(
                fields=["work"], condition=Q(state__in=WALL_STATES), name="call_wall"
            ),
            models.UniqueConstraint(fields=["provider", "reference"], name="call_reference_once"),
            # No `unique=True`: PostgreSQL would get a second index, for LIKE.
            models.UniqueConstraint(fields=["hook_token"], name="call_hook_token_once"),
            # A call that may still bring news is always looked at again.
            models.CheckConstraint(
                condition=~Q(state__in=LIVE_STATES) | Q(poll_at__isnull=False),
                name="call_live_is_looked_at",
            ),
            models.CheckConstraint(
                condition=Q(state__in=LIVE_STATES, ended_at__isnull=True)
                | Q(state__in=END_STATES, ended_at__isnull=False),
                name="call_ended_once_ended",
            ),
            models.CheckConstraint(
                condition=~Q(state="accepted")
                | Q(reference__isnull=False, accepted_at__isnull=False),
                name="call_accepted_has_reference",
            ),
            models.CheckConstraint(
                condition=Q(cost__isnull=True) | Q(cost__gte=0), name="call_cost_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(after__isnull=True) | ~Q(after_rule=""),
                name="call_fallback_names_its_rule",
            ),
            models.CheckConstraint(
                condition=Q(late_outcome="", late_at__isnull=True)
                | Q(state__in=END_STATES, late_at__isnull=False),
                name="call_late_only_after_end",
            ),
        ]
        indexes = [
            models.Index(fields=["poll_at"], condition=Q(poll_at__isnull=False), name="call_due"),
            models.Index(fields=["work"], name="call_of_work"),
            # Partial, so that a call that succeeds is not kept in them.
            models.Index(
                fields=["state", "sent_at", "id"],
                condition=~Q(state="succeeded"),
                name="call_by_state",
            ),
            models.Index(fields=["why", "-id"], condition=~Q(why=""), name="call_by_reason"),
            # How long a model usually takes, and when it last answered.
            models.Index(
                fields=["provider", "model", "-ended_at"],
                condition=Q(state="succeeded"),
                name="call_finished_of_model",
            ),
            # What was spent in a day, before each call.
            models.Index(fields=["provider", "sent_at"], name="call_of_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.provider}:{self.model} {self.work} {self.state}"

    def is_in_doubt(self, now: datetime) -> bool:
        return (
            self.state == CallState.UNKNOWN
            or (self.state == CallState.ACCEPTED and self.deadline_at <= now)
            or (self.state == CallState.SENDING and self.answer_by <= now)
        )

    @property
    def was_made(self) -> bool:
        return CallState.SUCCEEDED in (self.state, self.late_outcome)

    @property
    def is_lost(self) -> bool:
        """Without an id to ask by, and still looked for; also after staff gave its slot back."""
        was_let_go = self.state == CallState.GIVEN_UP and self.rule == Rule.GIVEN_BACK
        is_open = self.state == CallState.UNKNOWN or (was_let_go and not self.late_outcome)
        return self.reference is None and is_open


class CallResultQuerySet(models.QuerySet["CallResult"]):
    def with_file(self) -> "CallResultQuerySet":
        """Read by the index that holds no others."""
        return self.exclude(file="")


class CallResult(models.Model):
    """A result of a call (`providers.calls.result_files`). `file` is empty where the provider gave
    an address, and once the result is delivered."""

    # The unique constraint below is an index of it as well.
    call = models.ForeignKey(Call, on_delete=models.CASCADE, related_name="results", db_index=False)
    position = models.PositiveSmallIntegerField()
    url = models.TextField(blank=True)
    file = models.CharField(max_length=200, blank=True)
    is_encoded = models.BooleanField(default=False)
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)

    objects = CallResultQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["call", "position"], name="call_result_position_once"),
            models.CheckConstraint(
                condition=Q(file="") | ~Q(sha256=""), name="call_result_file_has_a_hash"
            ),
            models.CheckConstraint(
                condition=~Q(url__istartswith="data:"), name="call_result_holds_no_bytes"
            ),
        ]
        indexes = [
            models.Index(fields=["call"], condition=~Q(file=""), name="call_result_with_file")
        ]

    def __str__(self) -> str:
        return f"result {self.position} of call {self.call_id}"


class Gate(models.Model):
    """A provider's gate, or that of one of its models; the provider's own row is the lock.

    Open while one of the two times is in the future, half-open once it is over (`gates`).
    """

    provider = models.CharField(_("provider"), max_length=40)
    model = models.CharField(_("model"), max_length=200, blank=True)
    paused_until = models.DateTimeField(_("paused until"), null=True, blank=True)
    exhausted_until = models.DateTimeField(_("exhausted until"), null=True, blank=True)
    why = models.CharField(_("reason"), max_length=20, blank=True, choices=Reason.choices)
    since = models.DateTimeField(_("since"), null=True, blank=True)
    # Of the first pause of a series (`gates._block`); `since` is of the last.
    blocked_since = models.DateTimeField(null=True, blank=True, editable=False)
    probe = models.ForeignKey(
        Call, null=True, blank=True, on_delete=models.SET_NULL, verbose_name=_("probe")
    )
    # Of the whole provider, for polls and lists only: submits do not wait for them.
    polls_paused_until = models.DateTimeField(_("polls paused until"), null=True, blank=True)
    poll_pauses = models.PositiveSmallIntegerField(_("poll pauses in a row"), default=0)
    other_run_at = models.DateTimeField(_("last answer about another run"), null=True, blank=True)

    class Meta:
        verbose_name = _("gate")
        verbose_name_plural = _("gates")
        constraints = [
            models.UniqueConstraint(fields=["provider", "model"], name="gate_one_a_model"),
            models.CheckConstraint(
                condition=Q(exhausted_until__isnull=True) | Q(model=""),
                name="gate_exhausted_is_the_whole_provider",
            ),
            models.CheckConstraint(
                condition=Q(paused_until__isnull=True, exhausted_until__isnull=True)
                | (Q(since__isnull=False) & ~Q(why="")),
                name="gate_paused_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" if self.model else self.provider

    @property
    def is_paused(self) -> bool:
        """Open or half-open: not every request passes."""
        return self.blocked_until is not None

    @property
    def blocked_until(self) -> datetime | None:
        """None while requests pass."""
        return max(filter(None, (self.paused_until, self.exhausted_until)), default=None)


class Hook(models.Model):
    """A webhook that came for a call: who it is from and the run it names, no body and no prompt.

    It proves nothing: it moves the next poll, and may name the run (`providers.webhooks.store`).
    """

    provider = models.CharField(max_length=40)
    message_id = models.CharField(max_length=200)
    call = models.ForeignKey(Call, on_delete=models.CASCADE, related_name="hooks")
    received_at = models.DateTimeField()
    reference = models.CharField(max_length=200, blank=True)
    is_signed = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "message_id"], name="hook_message_once"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.message_id}"


class SmokeTestQuerySet(models.QuerySet["SmokeTest"]):
    def running(self) -> "SmokeTestQuerySet":
        return self.filter(ended_at=None)

    def find_newest(self, provider: str) -> "SmokeTest | None":
        """The last one with a verdict."""
        ended = self.filter(provider=provider, ended_at__isnull=False)
        return ended.order_by("-began_at", "-pk").first()

    def newest_of_each(self, providers: Iterable[str]) -> "SmokeTestQuerySet":
        """One row a provider, each by the index, in one query."""
        ended = SmokeTest.objects.filter(ended_at__isnull=False).order_by("-began_at", "-pk")
        newest = [Subquery(ended.filter(provider=name).values("pk")[:1]) for name in providers]
        return self.filter(pk__in=newest)


class SmokeTest(models.Model):
    """A small real run that shows whether a provider works, from order to picture (`smoke`).

    `work` is empty where nothing could be ordered.
    """

    provider = models.CharField(_("provider"), max_length=40)
    model = models.CharField(_("model"), max_length=200)
    work = models.CharField(_("work"), max_length=100, blank=True)
    began_at = models.DateTimeField(_("began"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    is_good = models.BooleanField(_("passed"), null=True, blank=True)
    words = models.CharField(_("description"), max_length=300, blank=True)

    objects = SmokeTestQuerySet.as_manager()

    class Meta:
        verbose_name = _("smoke test")
        verbose_name_plural = _("smoke tests")
        constraints = [
            models.UniqueConstraint(
                fields=["provider"], condition=Q(ended_at=None), name="smoke_test_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, is_good__isnull=True)
                | Q(ended_at__isnull=False, is_good__isnull=False),
                name="smoke_test_ended_with_a_verdict",
            ),
        ]
        indexes = [models.Index(fields=["provider", "-began_at"], name="smoke_test_newest")]

    def __str__(self) -> str:
        return f"{self.provider} {self.began_at:%Y-%m-%d %H:%M}"


class Restore(models.Model):
    """The database was restored from a backup at that instant (`restores`). One row for
    each time that an operator did it; none is ever removed."""

    restored_at = models.DateTimeField()
    # Not known where the file was put back by hand.
    backup_made_at = models.DateTimeField(null=True, blank=True)
    # The newest call that the backup knew.
    last_call = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"restored {self.restored_at:%Y-%m-%d %H:%M}"
