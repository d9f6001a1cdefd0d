"""The request of a picture: stage `generate`, sent by `jobs.engine.sending`."""

from jobs.core.models import Stage
from jobs.core.works import fault_at
from providers.adapters.base import PictureRequest
from providers.adapters.registry import Offer
from providers.calls.models import Call
from providers.webhooks import store


def build_request(stage: Stage, call: Call) -> PictureRequest:
    job = stage.job
    return PictureRequest(
        work=call.work,
        model=call.model,
        prompt=job.prompt,
        aspect_ratio=job.params.get("aspect_ratio", "1:1"),
        fault=fault_at(job, Offer(call.provider, call.model)),
        hook_url=store.find_address(call),
    )
