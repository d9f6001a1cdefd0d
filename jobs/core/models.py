"""Jobs, their stages, events and pictures; heartbeats of the processes that move them.

Every stage that is not done has a live lease or a due time (`stage_goes_on`): one due query finds
all work, whatever died.
"""

import uuid
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.core import reasons
from jobs.core.events import EventName
from jobs.core.states import JobState
from providers.calls.models import Call, Gate
from quotas.models import Account, Attempt

OPEN_STATES = ["queued", "running", "in_doubt"]
"""In the order of the index `job_open_of_account`: SQLite compares the words."""


class JobQuerySet(models.QuerySet["Job"]):
    def of(self, account: Account) -> "JobQuerySet":
        return self.filter(account_id=account.pk) if account.pk else self.none()

    def kept(self) -> "JobQuerySet":
        """Without jobs of which the person has deleted the result."""
        return self.filter(result_deleted_at=None)

    def open(self) -> "JobQuerySet":
        return self.filter(state__in=OPEN_STATES)

    def of_work(self, work: str) -> "JobQuerySet":
        """At most one: a work is on one stage (`stage_once_a_work`)."""
        # No join: PostgreSQL would lock the stage too where the job is locked.
        return self.filter(pk__in=Stage.objects.filter(work=work).values("job"))

    def notice_due(self, now: datetime) -> "JobQuerySet":
        """Ended otherwise than by their person's own hand, their mail not sent yet."""
        return self.filter(notice_due_at__lte=now, state__in=["ready", "failed", "not_confirmed"])


class Job(models.Model):
    """A person's order. `version` grows with every change that a page can show."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Found by `job_newest_of_account`.
    account = models.ForeignKey(
        Account, on_delete=models.PROTECT, related_name="jobs", db_index=False
    )
    attempt = models.OneToOneField(Attempt, null=True, blank=True, on_delete=models.PROTECT)
    kind = models.CharField(_("kind"), max_length=20)
    state = models.CharField(_("state"), max_length=15, choices=JobState.choices)
    reason = models.CharField(_("reason"), max_length=20, blank=True, choices=reasons.CHOICES)
    version = models.PositiveIntegerField(_("version"), default=1)
    retry_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="retries"
    )
    try_number = models.PositiveSmallIntegerField(_("try"), default=1)
    prompt = models.TextField(_("prompt"), blank=True)
    params = models.JSONField(_("parameters"), default=dict, blank=True)
    form_key = models.CharField(max_length=64)
    form_digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(_("created"))
    changed_at = models.DateTimeField(_("changed"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    unwanted_at = models.DateTimeField(_("user stopped waiting"), null=True, blank=True)
    result_deleted_at = models.DateTimeField(_("result deleted"), null=True, blank=True)
    texts_removed_at = models.DateTimeField(_("texts removed"), null=True, blank=True)
    notice_due_at = models.DateTimeField(_("email requested, due from"), null=True, blank=True)
    notice_tries = models.PositiveSmallIntegerField(_("tries to send email"), default=0)
    notified_at = models.DateTimeField(_("email sent"), null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        constraints = [
            # A form sent twice is one job.
            models.UniqueConstraint(
                fields=["account", "form_key", "form_digest"], name="job_form_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=OPEN_STATES, ended_at__isnull=True)
                | Q(
                    state__in=["ready", "failed", "cancelled", "not_confirmed"],
                    ended_at__isnull=False,
                ),
                name="job_ended_once_ended",
            ),
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(reason=""), name="job_failed_says_why"
            ),
            # What was mailed is not due again.
            models.CheckConstraint(
                condition=Q(notified_at__isnull=True) | Q(notice_due_at__isnull=True),
                name="job_notified_once",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at"], name="job_newest_of_account"),
            models.Index(
                fields=["account", "-created_at"],
                condition=Q(state__in=OPEN_STATES),
                name="job_open_of_account",
            ),
            models.Index(fields=["state", "created_at"], name="job_by_state"),
            models.Index(fields=["-created_at"], name="job_newest"),
            models.Index(
                fields=["ended_at", "state"],
                condition=Q(ended_at__isnull=False),
                name="job_ended",
            ),
            models.Index(
                fields=["notice_due_at"],
                condition=Q(notice_due_at__isnull=False),
                name="job_notice_due",
            ),
            # The mails of a day or a month, where they are metered: few jobs have one.
            models.Index(
                fields=["notified_at"],
                condition=Q(notified_at__isnull=False),
                name="job_mailed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk} {self.state}"


class StageQuerySet(models.QuerySet["Stage"]):
    def unfinished(self) -> "StageQuerySet":
        return self.filter(done_at__isnull=True)

    def due(self, now: datetime) -> "StageQuerySet":
        return self.unfinished().filter(Q(due_at__lte=now) | Q(leased_until__lte=now))

    def leased(self, now: datetime) -> "StageQuerySet":
        return self.unfinished().filter(leased_until__gt=now)


class Stage(models.Model):
    """One resumable step. `tries` counts the starts since the last orderly end of a run."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="stages")
    name = models.CharField(_("name"), max_length=20)
    # What one payment is for; null for a stage that sends no request. Calls are joined by it.
    work = models.CharField(_("work"), max_length=100, null=True, blank=True)  # noqa: DJ001
    call = models.OneToOneField(Call, null=True, blank=True, on_delete=models.PROTECT)
    due_at = models.DateTimeField(_("due"), null=True, blank=True)
    woken_at = models.DateTimeField(_("put in the queue"), null=True, blank=True)
    leased_until = models.DateTimeField(_("leased until"), null=True, blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_holder = models.CharField(_("lease holder"), max_length=120, blank=True)
    tries = models.PositiveIntegerField(_("starts without progress"), default=0)
    waiting_since = models.DateTimeField(_("waiting for a provider since"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"))
    done_at = models.DateTimeField(_("done"), null=True, blank=True)

    objects = StageQuerySet.as_manager()

    class Meta:
        verbose_name = _("stage")
        verbose_name_plural = _("stages")
        constraints = [
            # A payment is for one stage. Siblings have the same name and works of their own.
            models.UniqueConstraint(
                fields=["work"], condition=Q(work__isnull=False), name="stage_once_a_work"
            ),
            # A stage of a call is once a call; a job may have the results of several.
            models.UniqueConstraint(
                fields=["job", "name"],
                condition=Q(call__isnull=True, work__isnull=True),
                name="stage_once_a_job",
            ),
            models.CheckConstraint(
                condition=Q(work__isnull=True) | ~Q(work=""), name="stage_work_is_named"
            ),
            models.CheckConstraint(
                condition=~Q(name="save") | Q(call__isnull=False), name="stage_saves_a_call"
            ),
            # Work that is not done is always found again.
            models.CheckConstraint(
                condition=Q(done_at__isnull=False)
                | Q(due_at__isnull=False)
                | Q(leased_until__isnull=False),
                name="stage_goes_on",
            ),
            models.CheckConstraint(
                condition=Q(leased_until__isnull=True, lease_token__isnull=True)
                | Q(leased_until__isnull=False, lease_token__isnull=False),
                name="stage_lease_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(done_at__isnull=True), name="stage_due"),
            models.Index(
                fields=["leased_until"], condition=Q(done_at__isnull=True), name="stage_leased"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.name}"


class Event(models.Model):
    """One line of a job's history, written in the transaction of the change it describes."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    name = models.CharField(_("what"), max_length=30, choices=EventName.choices)
    facts = models.JSONField(_("facts"), default=dict, blank=True)
    at = models.DateTimeField(_("when"))

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        indexes = [models.Index(fields=["job", "id"], name="event_of_job")]

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S} {self.name}"


class Picture(models.Model):
    """A delivered picture. Its file is in the media folder and is served by a view."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="pictures")
    call = models.ForeignKey(
        Call, null=True, blank=True, on_delete=models.PROTECT, related_name="pictures"
    )
    position = models.PositiveSmallIntegerField(default=0)
    file = models.CharField(_("file"), max_length=200)
    media_type = models.CharField(_("type"), max_length=40)
    width = models.PositiveIntegerField(_("width"))
    height = models.PositiveIntegerField(_("height"))
    size = models.PositiveIntegerField(_("bytes"))
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(_("created"))

    class Meta:
        verbose_name = _("picture")
        verbose_name_plural = _("pictures")
        constraints = [
            models.UniqueConstraint(fields=["job", "position"], name="picture_once_a_position"),
        ]

    def __str__(self) -> str:
        return self.file


class UnreadResult(models.Model):
    """What was paid for and could not be shown: a whole answer, or a file that came with it. The
    content is in a file, written and synced before its row (`jobs.pictures.unread`)."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="unread_results")
    call = models.ForeignKey(Call, on_delete=models.PROTECT, related_name="unread_results")
    kind = models.CharField(
        _("kind"), max_length=10, choices=[("answer", _("answer")), ("file", _("file"))]
    )
    why = models.CharField(_("reason"), max_length=20)
    file = models.CharField(_("file"), max_length=200)
    size = models.PositiveIntegerField(_("bytes"))
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(_("created"))
    resolved_at = models.DateTimeField(_("resolved"), null=True, blank=True)

    class Meta:
        verbose_name = _("result that could not be read")
        verbose_name_plural = _("results that could not be read")
        constraints = [
            models.UniqueConstraint(fields=["call", "sha256"], name="unread_result_once"),
        ]
        indexes = [
            models.Index(
                fields=["created_at"],
                condition=models.Q(resolved_at__isnull=True),
                name="unread_result_open",
            ),
        ]

    def __str__(self) -> str:
        return self.file


class ActionName(models.TextChoices):
    """The staff actions. The values are stored."""

    CHECK = "check", _("checked now")
    GIVE_BACK = "give_back", _("slot given back")
    ATTACH = "attach", _("provider's id attached")
    GRANT = "grant", _("slots granted")
    REVOKE = "revoke", _("grant taken back")
    RESUME = "resume", _("job resumed")
    PAUSE = "pause", _("provider paused")
    RESUME_PROVIDER = "let_in", _("provider resumed")
    DELETE = "delete", _("user deleted")
    DELIVER = "deliver", _("result delivered")


class StaffAction(models.Model):
    """A decision of staff, written in the transaction of its effect and never changed. It outlives
    its author and its subject: their names stay."""

    action = models.CharField(_("what"), max_length=20, choices=ActionName.choices)
    subject = models.CharField(_("about"), max_length=200)
    reason = models.CharField(_("why"), max_length=500)
    facts = models.JSONField(_("facts"), default=dict, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    by_name = models.CharField(_("who"), max_length=150)
    at = models.DateTimeField(_("when"))
    call = models.ForeignKey(Call, null=True, blank=True, on_delete=models.SET_NULL)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL)
    account = models.ForeignKey(Account, null=True, blank=True, on_delete=models.SET_NULL)
    gate = models.ForeignKey(Gate, null=True, blank=True, on_delete=models.SET_NULL)

    class Meta:
        verbose_name = _("staff action")
        verbose_name_plural = _("staff actions")
        default_permissions = ("view",)
        permissions = [
            ("check_call", "Can have a call asked about at once"),
            ("give_slot_back", "Can give the slot of a call in doubt back"),
            ("attach_reference", "Can attach the provider's id to a lost call"),
            ("resume_job", "Can set a job going that was set aside"),
            ("deliver_result", "Can see and deliver a result that could not be read"),
        ]
        constraints = [
            # A decision has a name and a reason.
            models.CheckConstraint(
                condition=~Q(reason="") & ~Q(by_name=""), name="staff_action_says_who_and_why"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"


class Heartbeat(models.Model):
    """`worker`: a task was run, and when the last probe was sent. `ticker`: a tick was done."""

    name = models.CharField(primary_key=True, max_length=20)
    asked_at = models.DateTimeField(null=True, blank=True)
    beat_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        permissions = [("view_dashboard", "Can view the dashboard")]

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """A duty that one process at a time has, such as the ticker's."""

    name = models.CharField(primary_key=True, max_length=20)
    token = models.UUIDField()
    holder = models.CharField(max_length=120)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
