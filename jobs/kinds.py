"""The kinds of job. What differs between them is found here, and nothing below knows the table.

A stage is run by a function, or it `Sends`: a request is opened, sent once and recorded by
`jobs.engine.sending`, in the way of every kind.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobs.core.leases import StageLease
from jobs.core.models import Job, Stage
from jobs.followers import Follower
from jobs.pictures import follow, generate, saving
from providers.adapters.base import Request
from providers.calls.models import Call


@dataclass(frozen=True)
class Sends:
    """A stage with a work: `request` is what is sent for it."""

    request: Callable[[Stage, Call], Request]


Step = Sends | Callable[[StageLease], None]


@dataclass(frozen=True)
class Kind:
    name: str
    stages: Mapping[str, Step]
    follower: Follower


KINDS: dict[str, Kind] = {
    "image": Kind(
        name="image",
        stages={"generate": Sends(generate.request_of), "save": saving.save},
        follower=follow.FOLLOWER,
    ),
}


def kind_of(job: Job) -> Kind:
    return KINDS[job.kind]


def follower_of(job: Job) -> Follower:
    return KINDS[job.kind].follower
