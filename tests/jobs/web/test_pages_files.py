"""A picture and its file go to its owner alone, whole, under the right type."""

import pytest

from jobs.core.models import Picture
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = pytest.mark.django_db

NOBODYS = "7d0e26b5-5c57-4c33-92ad-16b2cf6a6d64"


@pytest.fixture
def picture(account, now) -> Picture:
    return rows.ready(account, now, prompt="A lighthouse, at dusk!").pictures.get()


def file_of(picture: Picture) -> str:
    return f"/images/{picture.pk}/file"


def test_file_goes_out_whole_under_its_type(ana_client, picture):
    response = ana_client.get(file_of(picture))
    assert response.getvalue() == rows.a_picture()
    assert response["Content-Type"] == "image/png"
    assert response["Content-Length"] == str(len(rows.a_picture()))
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response["Cache-Control"].startswith("private")


def test_file_is_shown_or_stored_as_asked(ana_client, picture):
    shown = ana_client.get(file_of(picture))
    stored = ana_client.get(file_of(picture) + "?download")
    shown.close()
    stored.close()
    name = f"a-lighthouse-at-dusk-{picture.pk.hex[:8]}.png"
    assert shown["Content-Disposition"] == f'inline; filename="{name}"'
    assert stored["Content-Disposition"] == f'attachment; filename="{name}"'


def test_file_of_a_prompt_without_letters_has_a_name(ana_client, account, now):
    picture = rows.ready(account, now, prompt="你好!").pictures.get()
    response = ana_client.get(file_of(picture))
    response.close()
    assert f'filename="picture-{picture.pk.hex[:8]}.png"' in response["Content-Disposition"]


@pytest.mark.parametrize("asker", ["ben_client", "staff_client", "visitor_client", "client"])
@pytest.mark.parametrize("address", ["/images/{}", "/images/{}/file", "/images/{}/file?download"])
def test_picture_of_another_is_not_there(request, picture, asker, address):
    response = request.getfixturevalue(asker).get(address.format(picture.pk))
    assert response.status_code == 404
    assert "lighthouse" not in response.content.decode()


def test_visitor_gets_the_own_file(visitor_client, visitor, now):
    picture = rows.ready(visitor, now).pictures.get()
    assert visitor_client.get(file_of(picture)).getvalue() == rows.a_picture()


def test_picture_that_never_was_is_not_there(ana_client):
    assert ana_client.get(f"/images/{NOBODYS}/file").status_code == 404


def test_missing_file_is_told_in_plain_words(ana_client, picture, media):
    (media / picture.file).unlink()
    response = ana_client.get(file_of(picture))
    assert response.status_code == 404
    assert "We could not open this picture's file. Only staff can fix this." in text_of(response)
    assert str(media) not in response.content.decode()


@pytest.mark.parametrize("path", ["../outside.png", "/etc/hostname", "pictures/../../outside.png"])
def test_row_that_points_outside_the_folder_shows_nothing(ana_client, picture, media, path):
    (media.parent / "outside.png").write_bytes(rows.a_picture())
    Picture.objects.filter(pk=picture.pk).update(file=path)
    assert ana_client.get(file_of(picture)).status_code == 404


def test_type_that_a_browser_might_run_is_not_shown(ana_client, picture):
    Picture.objects.filter(pk=picture.pk).update(media_type="text/html")
    assert ana_client.get(file_of(picture)).status_code == 404


def test_picture_page_shows_it_with_its_request(ana_client, picture):
    response = ana_client.get(f"/images/{picture.pk}")
    assert f'src="/images/{picture.pk}/file"' in response.content.decode()
    assert 'alt="A lighthouse, at dusk!"' in response.content.decode()
    assert "64 × 48" in text_of(response)
