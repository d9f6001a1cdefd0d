"""Kinds of reason in words for staff, who may know more than a person's page says."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

WHY: dict[str, "StrPromise"] = {
    "auth": _("key refused"),
    "balance": _("balance spent"),
    "cancelled": _("cancelled by the provider"),
    "config": _("model or address unknown to it"),
    "content": _("prompt refused"),
    "deadline": _("outcome never learned"),
    "input": _("request refused"),
    "no_output": _("finished without a picture"),
    "provider": _("its own failure"),
    "rate": _("too many requests"),
    "staff": _("by staff"),
    "transport": _("connection lost or not made"),
}


def why_in_words(why: str) -> str:
    """A word that the table does not know stands for itself."""
    return str(WHY.get(why, why))
