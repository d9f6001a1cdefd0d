"""The file host: open to anyone, and every way it can fail a client that was promised a file."""

from io import BytesIO
from urllib.parse import urlsplit

import pytest
import requests
from PIL import Image, ImageFile

from providers.sandbox.drawing import draw_picture
from providers.sandbox.odd_pictures import ODD_PICTURES
from providers.sandbox.run_code import read_run
from tests.providers.sandbox.conftest import PATIENCE


def test_the_file_is_the_picture_of_the_prompt(anywhere):
    answer = anywhere.finish()
    reply = anywhere.fetch(answer)
    assert reply.headers["Content-Type"] == "image/png"
    assert reply.content == draw_picture("a fox in fog", run=answer["id"])


def test_the_file_honours_the_aspect_ratio(client):
    reply = client.fetch(client.finish(input={"aspect_ratio": "9:16"}))
    assert Image.open(BytesIO(reply.content)).size == (576, 1024)


def test_the_file_comes_from_the_origin_the_client_knows(client):
    generation_id = client.finish()["id"]
    headers = {**client.key, "Host": f"localhost:{client.server.port}"}
    reply = client.session.get(
        f"{client.url}/v1/media/{generation_id}", headers=headers, timeout=PATIENCE
    )
    entries = reply.json()["data"]
    entry = entries[0] if isinstance(entries, list) else entries
    assert entry["url"].startswith(f"http://localhost:{client.server.port}/f/")


def test_a_key_shown_to_the_file_host_is_on_the_bill(client):
    answer = client.finish()
    client.fetch(answer)
    assert client.ledger()["generations"][0]["key_leaked"] is False
    client.fetch(answer, headers=client.key)
    assert client.ledger()["generations"][0]["key_leaked"] is True


def test_there_is_no_file_before_the_end(start_sandbox):
    client = start_sandbox(seconds=60)
    generation_id = client.submit().json()["id"]
    assert client.get(f"/f/{generation_id}.png").status_code == 404


@pytest.mark.parametrize(("fault", "status"), [("result_gone", 404), ("result_forbidden", 403)])
def test_a_file_that_is_not_given(client, fault, status):
    assert client.fetch(client.finish(fault)).status_code == status
    assert client.booked() == (1, 1)


def test_result_redirect_leads_to_a_private_address(client):
    reply = client.fetch(client.finish("result_redirect"))
    assert reply.status_code == 302
    assert urlsplit(reply.headers["Location"]).netloc == "127.0.0.1:1"


def test_result_private_names_a_private_address(client):
    data = client.finish("result_private")["data"]
    url = (data[0] if isinstance(data, list) else data)["url"]
    assert urlsplit(url).hostname == "10.0.0.1"


def test_result_wrong_type_is_html_under_a_pictures_name(client):
    reply = client.fetch(client.finish("result_wrong_type"))
    assert reply.headers["Content-Type"] == "image/png"
    assert reply.content.startswith(b"<!doctype html>")


def test_result_huge_goes_on_and_on(anywhere):
    with anywhere.fetch(anywhere.finish("result_huge"), stream=True) as reply:
        assert "Content-Length" not in reply.headers
        received = 0
        for chunk in reply.iter_content(2**20):
            received += len(chunk)
            if received > 8 * 2**20:
                break
    assert received > 8 * 2**20


def test_result_cut_is_whole_the_third_time(anywhere):
    answer = anywhere.finish("result_cut")
    for _ in range(2):
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            anywhere.fetch(answer)
    assert anywhere.fetch(answer).content == draw_picture("a fox in fog", run=answer["id"])


@pytest.mark.parametrize("fault", ODD_PICTURES)
def test_an_odd_picture_still_shows_its_run(client, fault, monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    answer = client.finish(fault)
    reply = client.fetch(answer)
    assert reply.headers["Content-Type"] == ODD_PICTURES[fault][1]
    assert read_run(Image.open(BytesIO(reply.content))) == answer["id"]


def test_an_expired_address_serves_nothing_and_a_new_one_does(client):
    answer = client.finish("url_expires")
    assert [client.fetch(answer).status_code for _ in range(3)] == [503, 403, 403]
    assert client.fetch(client.poll(answer["id"]).json()).status_code == 200
