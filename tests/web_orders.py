"""Orders that new visitors place in a web process, as their browsers would."""

import re
import uuid

import requests

from tests.web_process import Web


def order(web: Web, prompt: str = "a fox in fog") -> int:
    """The status of the form, after the page with it was loaded."""
    address = f"http://127.0.0.1:{web.port}/images/new"
    with requests.Session() as browser:
        page = browser.get(address, timeout=30)
        token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        if token is None:
            return page.status_code
        fields = {"prompt": prompt, "aspect_ratio": "1:1", "form_key": uuid.uuid4().hex}
        fields["csrfmiddlewaretoken"] = token[1]
        return browser.post(address, fields, allow_redirects=False, timeout=30).status_code
