"""What the ticker makes of an id that a webhook named: poll it, and believe only the answer.

Only the provider's own word to an authenticated question shows that the run exists under our key.
Two different ids for one call cannot both be right, so none is taken.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from jobs.engine import incoming
from providers.adapters.run_queries import poll_run
from providers.calls.models import Call
from providers.outcomes import Accepted, Done, Failed, NoAnswer, NoOutput, Running
from providers.webhooks import store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConfirmedRun:
    """The provider knows the run that a webhook named, and this is its answer."""

    reference: str
    answer: Running | NoOutput | Done | Failed


def ids_for(calls: Sequence[Call]) -> dict[int, str]:
    """The id to ask for, by call, for those that have none of their own and exactly one named."""
    unnamed = [call for call in calls if call.reference is None]
    found = {}
    for call_id, ids in store.ids_named_for(unnamed).items() if unnamed else ():
        if len(ids) == 1:
            found[call_id] = ids[0]
        else:
            _warn_of_several(call_id)
    return found


def ask(provider: str, reference: str, model: str) -> ConfirmedRun | NoAnswer:
    answer = poll_run(provider, reference, model)
    return answer if isinstance(answer, NoAnswer) else ConfirmedRun(reference, answer)


def follow(call: Call, found: ConfirmedRun, now: datetime) -> None:
    """Record the id first, unless it belongs to another call, and then the state of the run."""
    recorded = incoming.apply(call, Accepted(found.reference), now)
    is_ours = recorded.call.reference == found.reference
    if is_ours and isinstance(found.answer, Done | Failed):
        incoming.apply(call, found.answer, now)
    elif is_ours and isinstance(found.answer, NoOutput):
        incoming.await_output(recorded.call, found.answer, now)


@lru_cache(maxsize=1000)
def _warn_of_several(call_id: int) -> None:
    """Once a call: it would come with every look."""
    log.warning("Webhooks name several runs for call %s: none is taken", call_id)
