"""After signing out no Back button shows what the last person saw: what pages tell the browser.
What the browser makes of it is in tests/e2e/test_back_after_signing_out.py."""

import pytest
from django.test import Client

from tests.jobs.conftest import HTMX

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "path", ["/", "/gallery", "/images/new", "/sign-in", "/nowhere", "/admin/login/"]
)
def test_every_page_says_so_whatever_its_status(client: Client, path):
    assert "no-store" in client.get(path)["Cache-Control"]


def test_a_part_is_asked_for_anew_and_keeps_its_page_in_no_cache_out(ana_client):
    assert ana_client.get("/gallery", headers=HTMX)["Cache-Control"] == "private, no-cache"
