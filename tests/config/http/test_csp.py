"""Every answer forbids what is inline and what comes from elsewhere."""

import asyncio

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client

from config.http.csp import HEADER, POLICY, content_security_policy

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "address", ["/", "/images/new", "/gallery", "/nowhere", "/admin/login/", "/healthz"]
)
def test_every_page_has_the_policy(client, address):
    assert client.get(address, follow=True)[HEADER] == POLICY


def test_a_page_that_broke_has_it_too(monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError

    monkeypatch.setattr("jobs.web.views.home.own_jobs", fail)
    response = Client(raise_request_exception=False).get("/")
    assert (response.status_code, response[HEADER]) == (500, POLICY)


def test_a_form_without_its_token_has_it_too():
    response = Client(enforce_csrf_checks=True).post("/images/new")
    assert (response.status_code, response[HEADER]) == (403, POLICY)


def test_it_leaves_an_async_chain_async():
    async def view(request):
        return HttpResponse()

    assert asyncio.run(content_security_policy(view)(HttpRequest()))[HEADER] == POLICY


def test_a_views_own_policy_stands():
    own = content_security_policy(lambda request: HttpResponse(headers={HEADER: "sandbox"}))
    assert own(HttpRequest())[HEADER] == "sandbox"


def test_nothing_inline_is_allowed():
    assert "unsafe" not in POLICY
