"""What a new site still lacks. `up` prints these hints under its banner, and the home page shows
them to the operator (jobs.web.first_run)."""

import shlex
import sys

from django.contrib.auth import get_user_model
from django.core.checks import CheckMessage, Error, Info, register
from django.db import DatabaseError
from django.utils.translation import gettext as _

from providers.adapters import registry

# The second reads the database.
SETUP, STAFF = "setup", "staff"


@register(SETUP)
def check_models(**kwargs: object) -> list[CheckMessage]:
    if registry.offers():
        return []
    says = _("No model is available. Name one in IMAGE_MODELS and restart the site.")
    return [Error(says, id="counterfoil.E006")]


# Not with every command: for `check --deploy` and for those who list the hints.
@register(SETUP, deploy=True)
def check_provider_key(**kwargs: object) -> list[CheckMessage]:
    if registry.has_key() or not registry.offers():
        return []
    says = _(
        "No provider key is set, so the site makes test pictures only. For real pictures, set "
        "%(names)s in .env and restart the site."
    ) % {"names": " or ".join(registry.list_key_settings())}
    return [Info(says, id="counterfoil.I001")]


@register(STAFF, deploy=True)
def check_staff(**kwargs: object) -> list[CheckMessage]:
    # Before `migrate` there is no table.
    try:
        has_staff = get_user_model().objects.filter(is_staff=True, is_active=True).exists()
    except DatabaseError:
        return []
    if has_staff:
        return []
    command = shlex.join([sys.executable, "manage.py", "createsuperuser"])
    says = _("There is no staff account yet. To create one, run: %(command)s") % {
        "command": command
    }
    return [Info(says, id="counterfoil.I002")]
