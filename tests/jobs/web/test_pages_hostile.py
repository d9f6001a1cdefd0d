"""Whatever is sent, a page answers with a page: nothing sent by hand is a fault of ours."""

import gc
import warnings
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from jobs.core.models import Job
from tests import rows
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

FIELDS = {"prompt": "A kite", "aspect_ratio": "1:1", "form_key": "k" * 32}
RESTORED = {**HTMX, "HX-History-Restore-Request": "true"}
PAGES = ("home", "new_picture", "gallery", "job", "picture", "stop_waiting", "delete_result")
FILES = ("picture_file", "picture_thumbnail")
ODD = ("%ff%fe", "%00", "9" * 5000, "x," * 3000, "%C3%28", "²", "../../etc/passwd", "")
ODD_QUERY = "&".join(f"{name}={{odd}}" for name in ("seen", "show", "page", "tiles", "from"))
BOUNDARY = "multipart/form-data; boundary=b"


@pytest.fixture
def addresses(account, now):
    """Every page and file of a ready job, by name."""
    job = rows.ready(account, now)
    picture = job.pictures.get()
    found = {name: reverse(name) for name in ("home", "new_picture", "gallery")}
    found |= {
        name: reverse(name, args=[job.pk]) for name in PAGES if name not in {*found, "picture"}
    }
    return found | {name: reverse(name, args=[picture.pk]) for name in ("picture", *FILES)}


def multipart(**fields: str) -> bytes:
    parts = (
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    return ("".join(parts) + "--b--\r\n").encode()


@pytest.mark.parametrize("headers", [{}, HTMX, RESTORED], ids=["page", "htmx", "restored"])
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_no_query_breaks_a_page(ana_client, addresses, odd, headers):
    for name in PAGES:
        response = ana_client.get(f"{addresses[name]}?{ODD_QUERY.format(odd=odd)}", headers=headers)
        assert response.status_code in (200, 286, 302, 303), name


@pytest.mark.parametrize("name", ["gallery", "job", "new_picture"])
def test_a_thousand_fields_are_not_read(ana_client, addresses, name):
    response = ana_client.get(f"{addresses[name]}?{'a=1&' * 1500}")
    assert response.status_code == 400
    assert "Your browser sent something that this site cannot read." in text_of(response)


def test_a_refused_request_leaves_no_file_open(ana_client, addresses):
    """An open one would be warned of, and warnings are errors here."""
    with warnings.catch_warnings(action="ignore"):
        # What other tests left behind is theirs.
        gc.collect()
    response = ana_client.get(f"{addresses['picture_file']}?{'a=1&' * 1500}")
    assert response.status_code == 400
    gc.collect()


@pytest.mark.parametrize("name", [*PAGES, *FILES])
def test_head_is_answered_as_get_without_a_body(ana_client, addresses, name):
    shown, asked = ana_client.get(addresses[name]), ana_client.head(addresses[name])
    shown.close()
    asked.close()
    assert asked.status_code == shown.status_code
    assert not asked.getvalue()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "NONE"])
def test_what_is_only_looked_at_takes_no_other_method(ana_client, addresses, method):
    for name in ("home", "gallery", "job", "picture", *FILES):
        assert ana_client.generic(method, addresses[name]).status_code == 405, name


@pytest.mark.parametrize("charset", ["utf-7", "utf-16", "latin-1", "no-such"])
@pytest.mark.parametrize("name", ["home", "gallery", "new_picture"])
def test_no_charset_breaks_a_page(ana_client, addresses, name, charset):
    address = f"{addresses[name]}?show=ready&page=1&form={'k' * 32}"
    headers = {"content-type": f"text/plain; charset={charset}"}
    response = ana_client.get(address, headers=headers)
    assert response.status_code == 200


@pytest.mark.parametrize("charset", ["utf-7", "utf-16", "latin-1", "no-such"])
@pytest.mark.parametrize("type_", ["application/x-www-form-urlencoded", BOUNDARY])
def test_a_form_is_read_as_utf8_whatever_it_is_called(ana_client, type_, charset):
    fields = {**FIELDS, "prompt": "Ein Käfer, +2AA-"}
    body = multipart(**fields) if type_ == BOUNDARY else urlencode(fields).encode()
    response = ana_client.generic("POST", "/images/new", body, f"{type_}; charset={charset}")
    assert response.status_code == 303
    assert Job.objects.get().prompt == "Ein Käfer, +2AA-"


@pytest.mark.parametrize("field", ["prompt", "form_key", "retry_of", "aspect_ratio", "fault"])
def test_no_field_breaks_the_form(ana_client, field):
    for odd in ("a\0b", "\u202e" * 2001):
        response = ana_client.post("/images/new", {**FIELDS, field: odd})
        assert response.status_code == 422
        assert "Your request was not sent" in text_of(response)
    assert not Job.objects.exists()


def test_a_body_beyond_all_reason_is_refused_in_plain_words(ana_client):
    response = ana_client.post("/images/new", {**FIELDS, "prompt": "x" * 2**21})
    assert response.status_code == 400
    assert "Your browser sent something that this site cannot read." in text_of(response)
    assert not Job.objects.exists()
