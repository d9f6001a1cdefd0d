"""Why a call ended as it did, in two vocabularies: the reason is what happened, for pages and
fallbacks; the rule is what proved it, for the log, the fallback and the search for lost submits."""

from django.db.models import TextChoices


class Reason(TextChoices):
    """The labels are the values: staff look them up in docs/operations.md."""

    CONFIG = "config", "config"
    AUTH = "auth", "auth"
    BALANCE = "balance", "balance"
    RATE = "rate", "rate"
    INPUT = "input", "input"
    CONTENT = "content", "content"
    NO_OUTPUT = "no_output", "no_output"
    PROVIDER = "provider", "provider"
    CANCELLED = "cancelled", "cancelled"
    DEADLINE = "deadline", "deadline"
    TRANSPORT = "transport", "transport"
    # Of a gate, where no request was sent.
    STAFF = "staff", "staff"
    CAP = "cap", "cap"


class Rule(TextChoices):
    # Of the answer to a submit (`providers.wire.classify`).
    SEND_WINDOW_MISSED = "send_window_missed", "send_window_missed"
    NEVER_CONNECTED = "never_connected", "never_connected"
    LOST = "lost", "lost"
    REDIRECTED = "redirected", "redirected"
    UNLISTED = "unlisted", "unlisted"
    UNCLEAR_4XX = "unclear_4xx", "unclear_4xx"
    TOO_MANY = "too_many", "too_many"
    REFUSED = "refused", "refused"
    OWN_ENQUEUE_ERROR = "own_enqueue_error", "own_enqueue_error"
    OWN_ERROR = "own_error", "own_error"
    GATEWAY_ERROR = "gateway_error", "gateway_error"
    UNREADABLE = "unreadable", "unreadable"
    # Of the engine around it.
    ADAPTER_RAISED = "adapter_raised", "adapter_raised"
    SENDER_LOST = "sender_lost", "sender_lost"
    REPEATED_ID = "repeated_id", "repeated_id"
    NOT_EXECUTED = "not_executed", "not_executed"
    END_OF_RETENTION = "end_of_retention", "end_of_retention"
    # Staff gave the slot back; the call is pursued on.
    GIVEN_BACK = "given_back", "given_back"
    # Of a poll or a list: its answer names another run, or other rows, than were requested.
    OTHER_RUN = "other_run", "other_run"
    # Why a fallback was allowed, beside the rule by which the call before it was rejected.
    PAUSED = "paused", "paused"
    REJECTED = "rejected", "rejected"
    FAILED_FOR_NOTHING = "failed_for_nothing", "failed_for_nothing"
    FAILED_BILLED = "failed_billed", "failed_billed"
