"""Accounts, plans and grants, new visitors, the ledger of attempts, alerts for staff, and the id of
this database.

A slot is a seat: the partial unique index `attempt_seat_taken_once` is what makes overselling
impossible. There is no counter column.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from quotas.states import AttemptState, BypassReason


class Kind(models.TextChoices):
    """Kinds of job that cost a slot."""

    IMAGE = "image", _("pictures")
    CONTRACT = "contract", _("contracts")


class Plan(models.Model):
    name = models.CharField(_("name"), max_length=40, unique=True)

    class Meta:
        verbose_name = _("plan")
        verbose_name_plural = _("plans")

    def __str__(self) -> str:
        return self.name


class Allowance(models.Model):
    """How many slots a day a plan gives for one kind of job."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="allowances")
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    slots = models.PositiveIntegerField(_("slots a day"))

    class Meta:
        verbose_name = _("allowance")
        verbose_name_plural = _("allowances")
        constraints = [
            models.UniqueConstraint(fields=["plan", "kind"], name="allowance_one_a_kind"),
            models.CheckConstraint(
                condition=Q(slots__lte=100_000), name="allowance_slots_within_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id}: {self.slots} {self.kind}"


class AccountQuerySet(models.QuerySet["Account"]):
    def open(self) -> "AccountQuerySet":
        return self.filter(closed_at=None)

    def former(self) -> "AccountQuerySet":
        """Accounts of deleted people."""
        return self.filter(closed_at__isnull=False, moved_to=None)


class Account(models.Model):
    """A signed-in user, an anonymous visitor (signed cookie), or a command-line name.

    A closed account reserves nothing. Signing in closes a visitor's account, which then names the
    account that has its jobs. The account of a deleted person is closed and names no other.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    visitor = models.CharField(_("visitor"), max_length=64, null=True, blank=True, unique=True)
    name = models.CharField(_("name"), max_length=150, null=True, blank=True, unique=True)
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT)
    created_at = models.DateTimeField(_("created"))
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)
    moved_to = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="+",
        verbose_name=_("moved to"),
    )  # fmt: skip

    removal_asked_at = models.DateTimeField(_("removal requested"), null=True, blank=True)
    removed_at = models.DateTimeField(_("removed"), null=True, blank=True)

    objects = AccountQuerySet.as_manager()

    class Meta:
        verbose_name = _("account")
        verbose_name_plural = _("accounts")
        constraints = [
            models.CheckConstraint(
                condition=~Q(visitor="") & ~Q(name=""), name="account_identity_not_blank"
            ),
            # A closed account was a visitor's and names the account that has its jobs, or it is a
            # former person's and has no owner.
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, moved_to__isnull=True)
                | Q(
                    closed_at__isnull=False,
                    moved_to__isnull=False,
                    visitor__isnull=False,
                    user__isnull=True,
                )
                | Q(
                    closed_at__isnull=False,
                    moved_to__isnull=True,
                    visitor__isnull=True,
                    user__isnull=True,
                    name__isnull=True,
                ),
                name="account_closed_has_no_user",
            ),
            models.CheckConstraint(
                condition=Q(removal_asked_at__isnull=True)
                | Q(closed_at__isnull=False, moved_to__isnull=True),
                name="account_removal_is_of_a_former_person",
            ),
        ]
        indexes = [
            models.Index(
                fields=["closed_at"],
                condition=Q(closed_at__isnull=False),
                name="account_closed",
            ),
        ]

    def __str__(self) -> str:
        if self.name:
            return self.name
        if self.user_id:
            return gettext("user %(number)s") % {"number": self.user_id}
        if self.closed_at and not self.moved_to_id:
            return gettext("former user, account %(number)s") % {"number": self.pk}
        return gettext("visitor %(beginning)s") % {"beginning": (self.visitor or "?")[:8]}


class Grant(models.Model):
    """Extra slots for one day, given by staff. Never negative."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="grants")
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    day = models.DateField(_("UTC day"))
    slots = models.PositiveIntegerField(_("extra slots"))
    reason = models.CharField(_("reason"), max_length=200)
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    granted_at = models.DateTimeField(_("granted"))
    form_key = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001

    class Meta:
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        indexes = [models.Index(fields=["account", "kind", "day"], name="grant_of_a_day")]
        constraints = [
            models.CheckConstraint(
                condition=Q(slots__gte=1) & Q(slots__lte=100_000), name="grant_slots_within_reason"
            ),
            # A form that is submitted twice gives one grant.
            models.UniqueConstraint(fields=["form_key"], name="grant_form_once"),
        ]

    def __str__(self) -> str:
        return f"+{self.slots} {self.kind} on {self.day}"


class Newcomer(models.Model):
    """A seat of one network and day, which a visitor takes with its first reservation."""

    network = models.CharField(_("network"), max_length=50)
    day = models.DateField(_("UTC day"))
    number = models.PositiveIntegerField(_("number"))
    allowed = models.PositiveIntegerField(_("allowed"))
    account = models.OneToOneField(Account, on_delete=models.CASCADE, related_name="newcomer")
    taken_at = models.DateTimeField(_("taken"))

    class Meta:
        verbose_name = _("new visitor")
        verbose_name_plural = _("new visitors")
        constraints = [
            # The day comes first, since housekeeping filters by the day only.
            models.UniqueConstraint(
                fields=["day", "network", "number"], name="newcomer_seat_taken_once"
            ),
            models.CheckConstraint(
                condition=Q(number__gte=1) & Q(number__lte=models.F("allowed")),
                name="newcomer_number_within_allowed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.network} {self.day} #{self.number}"


class AlertKind(models.TextChoices):
    """Problems that need staff, because the site cannot fix them by itself."""

    PROVIDER_PAUSED = "provider_paused", _("provider rejected the key or is out of credit")
    PROVIDER_BLOCKED = "provider_shut", _("provider paused for more than five minutes")
    CONTRADICTION = "contradiction", _("late outcome contradicts the record")
    IN_DOUBT = "in_doubt", _("in doubt for more than an hour")
    OVERDUE = "overdue", _("deadline missed")
    SPEND = "spend", _("daily budget")
    SILENT = "silent", _("not responding")
    SMOKE = "smoke", _("smoke test failed or stale")
    ALLOWANCE = "allowance", _("usage of an external quota")
    OTHER_RUN = "other_run", _("answers about other runs than requested")
    LIMITER = "limiter", _("rate limiter lets requests through uncounted")
    UNREAD = "unread", _("paid result not delivered")
    STORAGE = "storage", _("pictures cannot be stored")
    COPY = "copy", _("another copy of this site is running")


class AlertQuerySet(models.QuerySet["Alert"]):
    def open(self) -> "AlertQuerySet":
        return self.filter(closed_at=None)


class Alert(models.Model):
    """A problem for staff. `seen_at` is when it was last observed.

    Each alert is mailed and posted once, because it is marked before it is sent
    (`jobs.alerts.alert_delivery`).
    """

    kind = models.CharField(_("kind"), max_length=30, choices=AlertKind.choices)
    subject = models.CharField(_("about"), max_length=200)
    words = models.CharField(_("description"), max_length=500, blank=True)
    opened_at = models.DateTimeField(_("opened"))
    seen_at = models.DateTimeField(_("last seen"))
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)
    mail_due_at = models.DateTimeField(null=True, blank=True, editable=False)
    mail_tries = models.PositiveSmallIntegerField(default=0, editable=False)
    mailed_at = models.DateTimeField(_("mailed"), null=True, blank=True)
    post_due_at = models.DateTimeField(null=True, blank=True, editable=False)
    post_tries = models.PositiveSmallIntegerField(default=0, editable=False)
    posted_at = models.DateTimeField(_("posted"), null=True, blank=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        constraints = [
            # A lasting problem is one alert, however often it is observed.
            models.UniqueConstraint(
                fields=["kind", "subject"],
                condition=Q(closed_at__isnull=True),
                name="alert_open_once",
            ),
            # An alert that was sent is not due again.
            models.CheckConstraint(
                condition=Q(mailed_at__isnull=True) | Q(mail_due_at__isnull=True),
                name="alert_mailed_once",
            ),
            models.CheckConstraint(
                condition=Q(posted_at__isnull=True) | Q(post_due_at__isnull=True),
                name="alert_posted_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}"


class Attempt(models.Model):
    """One row of the quota ledger. `allowed` is the allowance at the moment of reserving."""

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="attempts")
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    day = models.DateField(_("UTC day"))
    slot = models.PositiveIntegerField(_("slot"))
    allowed = models.PositiveIntegerField(_("allowed"))
    state = models.CharField(_("state"), max_length=10, choices=AttemptState.choices)
    cost_nothing = models.BooleanField(_("known to have cost nothing"), default=False)
    reserved_at = models.DateTimeField(_("reserved"))
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        constraints = [
            # Only one attempt can hold a seat, so the database itself refuses to oversell.
            models.UniqueConstraint(
                fields=["account", "kind", "day", "slot"],
                condition=~Q(state="failed"),
                name="attempt_seat_taken_once",
            ),
            models.CheckConstraint(
                condition=Q(slot__gte=1) & Q(slot__lte=models.F("allowed")),
                name="attempt_slot_within_allowed",
            ),
            models.CheckConstraint(
                condition=Q(state="pending", settled_at__isnull=True)
                | Q(state__in=["success", "failed"], settled_at__isnull=False),
                name="attempt_settled_once_ended",
            ),
            models.CheckConstraint(
                condition=Q(cost_nothing=False) | Q(state="failed"),
                name="attempt_cost_nothing_only_if_failed",
            ),
        ]
        indexes = [
            # The bound on attempts a day that may have cost money.
            models.Index(
                fields=["account", "kind", "day"],
                condition=Q(cost_nothing=False),
                name="attempt_may_have_cost",
            ),
            models.Index(fields=["state", "day"], name="attempt_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.day} #{self.slot} {self.state}"


class Unmeasured(models.Model):
    """Requests that the rate limiter let through uncounted, per day and reason."""

    day = models.DateField(_("UTC day"))
    why = models.CharField(_("why"), max_length=20, choices=BypassReason.choices)
    requests = models.PositiveBigIntegerField(_("requests"))
    last_at = models.DateTimeField(_("last"))

    class Meta:
        verbose_name = _("uncounted requests of a day")
        verbose_name_plural = _("uncounted requests")
        constraints = [
            models.UniqueConstraint(fields=["day", "why"], name="unmeasured_one_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.why}: {self.requests}"


class Site(models.Model):
    """One row that identifies this database. A copy of the database has the same row, so the signs
    in it change while the site runs (`jobs/engine/copies.py`)."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    name = models.CharField(max_length=32, editable=False)
    sign = models.CharField(max_length=32, blank=True, editable=False)
    next_sign = models.CharField(max_length=32, blank=True, editable=False)
    copy_seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        constraints = [
            # With two rows the site would have two queues.
            models.CheckConstraint(condition=Q(id=1), name="site_one_row"),
        ]

    def __str__(self) -> str:
        return self.name
