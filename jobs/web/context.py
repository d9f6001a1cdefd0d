"""What every page's frame needs. The balance is read when a template first asks for it: a page
without the quota pays no query."""

from django.utils.functional import SimpleLazyObject

from jobs.kinds import KINDS
from jobs.panels import Quotas
from jobs.people.requests import SiteRequest
from providers.adapters.registry import has_key, is_sandbox, offers

THEME_COOKIE = "theme"
THEMES = ("light", "dark")


def site(request: SiteRequest) -> dict[str, object]:
    quotas = Quotas(lambda: request.account)
    return {
        "quota": SimpleLazyObject(lambda: quotas.of_kind(next(iter(KINDS)))),
        "quotas": quotas,
        "order_pages": [kind.order_page for kind in KINDS.values()],
        "makes_test_pictures": makes_test_pictures(),
        "theme": theme_of(request),
        "has_provider_key": has_key(),
    }


def theme_of(request: SiteRequest) -> str:
    """The empty string where the device decides."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def makes_test_pictures() -> bool:
    """True when nothing but the sandbox draws here."""
    return bool(offers()) and all(is_sandbox(offer.provider) for offer in offers())
