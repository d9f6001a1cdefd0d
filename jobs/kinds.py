"""The kinds of job. What differs between them is found here, and nothing below knows the table.

A stage is run by a function, or it `Sends`: a request is opened, sent once and recorded by
`jobs.engine.sending`, in the way of every kind.
"""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.forms import Form
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext_lazy

from jobs.checks import Check, KeptFiles
from jobs.chores import Chore
from jobs.core.leases import StageLease
from jobs.core.models import Event, Job, JobQuerySet, Stage
from jobs.followers import Follower
from jobs.pictures import follow, generate, owner_actions, panels, saving, smoke
from jobs.pictures.forms import PictureForm
from jobs.pictures.upkeep import checks, chores, files
from jobs.pictures.words import WORDS
from jobs.words.kind_words import KindWords
from providers.adapters.base import Request
from providers.adapters.registry import Offer
from providers.calls.models import Call
from quotas.ledger import Refused
from quotas.models import Account

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


@dataclass(frozen=True)
class Sends:
    """A stage with a work: `request` is what is sent for it."""

    request: Callable[[Stage, Call], Request]


Step = Sends | Callable[[StageLease], None]


@dataclass(frozen=True)
class Templates:
    result: str
    """On the job's page, above its progress."""
    request: str
    """On the job's page: what was ordered."""
    list_entry: str


@dataclass(frozen=True)
class OrderPage:
    url: str
    """Its name; `?from=<job>` fills the form in."""
    link: "StrPromise | str"
    form: Callable[[QueryDict], Form]
    page: str
    part: str
    """The template of the form itself, which shows `form` and why it was `refused`."""


@dataclass(frozen=True)
class SmokeRequest:
    """The smoke test of a provider (`jobs.ops.smoke`) by this kind."""

    offers: Callable[[], Sequence[Offer]]
    """What may be ordered. The first offer of each provider is tested."""
    order: Callable[[Account, Offer, datetime], Job | Refused]
    """A small job, with its first work."""
    why_bad: Callable[[Job, str], str]
    """Of a job that is ready: why this provider did not make its result, or empty."""


@dataclass(frozen=True)
class Kind:
    name: str
    stages: Mapping[str, Step]
    follower: Follower
    words: KindWords
    panel: Callable[[Job, Sequence[Event], datetime], dict[str, object]]
    """For the job's page, beside `jobs.panels`: `steps`, `sentences`, `has_result`, `look_in`, and
    what its own templates read. The events are those of the job, the oldest first."""
    templates: Templates
    order_page: OrderPage
    delete_result: Callable[[uuid.UUID, datetime], bool]
    """Of a ready job, by its owner. True again for a repeated request."""
    remove_results: Callable[[Collection[uuid.UUID]], None]
    """Of those of the jobs that are of this kind, in the caller's transaction: all rows and files
    with what people wrote or received."""
    smoke: SmokeRequest
    checks: Sequence[Check]
    """Of the audit, beside those of any job."""
    chores: Sequence[Chore]
    """Of housekeeping, likewise."""
    files: Sequence[KeptFiles]
    list_needs: Sequence[str] = ()
    """The relations of a job that the list entry reads."""


KINDS: dict[str, Kind] = {
    "image": Kind(
        name="image",
        stages={"generate": Sends(generate.build_request), "save": saving.save},
        follower=follow.FOLLOWER,
        words=WORDS,
        panel=panels.build_panel,
        templates=Templates(
            result="ui/_pictures.html", request="ui/_request.html", list_entry="ui/_tile.html"
        ),
        order_page=OrderPage(
            url="new_picture",
            link=gettext_lazy("New picture"),
            form=PictureForm,
            page="new_picture.html",
            part="_picture_form.html",
        ),
        delete_result=owner_actions.delete_result,
        remove_results=owner_actions.remove_pictures,
        smoke=SmokeRequest(smoke.tested_offers, smoke.order, smoke.why_bad),
        checks=checks.CHECKS,
        chores=chores.CHORES,
        files=files.FILES,
        list_needs=("pictures",),
    ),
}


def kind_of(job: Job) -> Kind:
    return KINDS[job.kind]


def follower_of(job: Job) -> Follower:
    return KINDS[job.kind].follower


def order_page_at(path: str) -> OrderPage | None:
    pages = (kind.order_page for kind in KINDS.values())
    return next((page for page in pages if reverse(page.url) == path), None)


def with_list_needs(jobs: JobQuerySet) -> JobQuerySet:
    """With what the list entries of all kinds read."""
    return jobs.prefetch_related(*{need for kind in KINDS.values() for need in kind.list_needs})
