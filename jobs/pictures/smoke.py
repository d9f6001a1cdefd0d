"""What the smoke test of a provider of pictures orders, and what a good result of it is."""

from datetime import datetime

from django.utils.translation import gettext as _

from jobs.core.models import Job, Picture
from jobs.pictures.orders import PictureOrder, new_form_key, order_picture
from providers.adapters.registry import Offer, fallback_offers, offers
from quotas.ledger import Refused
from quotas.models import Account

PROMPT = "A plain grey circle on a white ground"


def tested_offers() -> list[Offer]:
    return [*offers(), *fallback_offers()]


def order(account: Account, offer: Offer, now: datetime) -> Job | Refused:
    picture = PictureOrder(prompt=PROMPT, aspect_ratio="1:1", offer=offer)
    return order_picture(account=account, order=picture, form_key=new_form_key(), now=now)


def why_bad(job: Job, provider: str) -> str:
    makers = Picture.objects.filter(job=job).values_list("call__provider", flat=True)
    if provider in makers or job.result_deleted_at:
        return ""
    return _("This provider did not make the picture. A fallback did.")
