"""Send a request by the way that its provider offers."""

from collections.abc import Callable
from datetime import datetime

from providers.adapters.base import AnswersAtOnce, Request, SubmitsRuns
from providers.adapters.registry import find_provider
from providers.outcomes import Submitted


def send_request(
    provider: str, request: Request, *, send_by: datetime, note_id: Callable[[str], None]
) -> Submitted:
    """Once. Never inside a transaction: the answer may take as long as `caps.answer_timeout`."""
    adapter = find_provider(provider)
    if isinstance(adapter, AnswersAtOnce):
        return adapter.complete(request, send_by=send_by, note_id=note_id)
    if isinstance(adapter, SubmitsRuns):
        return adapter.submit(request, send_by=send_by, note_id=note_id)
    raise TypeError(f"{provider} takes no requests")


def answers_at_once(provider: str) -> bool:
    return isinstance(find_provider(provider), AnswersAtOnce)
