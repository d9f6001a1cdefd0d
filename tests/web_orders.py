"""Orders that new visitors place, as their browsers would."""

import re
import uuid

import requests

from tests.web_process import Web


def order(web: Web) -> int:
    """The status of a new visitor's form."""
    with requests.Session() as browser:
        return place(browser, f"http://127.0.0.1:{web.port}").status_code


def place(browser: requests.Session, site_url: str) -> requests.Response:
    """The answer to the form, after the page with it was loaded."""
    address = f"{site_url}/images/new"
    page = browser.get(address, timeout=30)
    token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    if token is None:
        return page
    fields = {"prompt": "a fox in fog", "aspect_ratio": "1:1", "form_key": uuid.uuid4().hex}
    fields["csrfmiddlewaretoken"] = token[1]
    return browser.post(address, fields, allow_redirects=False, timeout=30)
