"""A whole site, its workers killed in between, mails the end of a job once."""

import pytest

from tests.postbox import Postbox
from tests.site_process import Site

pytestmark = pytest.mark.site

ORDER = """
from django.contrib.auth.models import User
from django.utils import timezone
from jobs.notifications import notices
from jobs.pictures.orders import PictureOrder, order_picture
from providers.adapters.registry import offers
from quotas import accounts
ana = User.objects.create(username="ana", email="ana@example.org")
for number in range(3):
    order = PictureOrder(prompt="a fox", aspect_ratio="1:1", offer=offers()[0])
    account, now = accounts.account_of_user(ana), timezone.now()
    job = order_picture(account=account, order=order, form_key=f"key {number}", now=now)
    assert notices.ask(job.pk, now)
"""

AT_WORK = "SELECT state, count(*) FROM providers_call GROUP BY state"


@pytest.fixture
def postbox():
    with Postbox() as postbox:
        yield postbox


@pytest.fixture
def site(tmp_path, postbox):
    mail = {"EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": str(postbox.port), "EMAIL_TLS": "no"}
    # Long enough for all three to be at the provider at once.
    times = {"SANDBOX_SECONDS": "20", "POLL_EVERY": "0.3"}
    site = Site(tmp_path, DEFAULT_FROM_EMAIL="site@example.org", **mail, **times)
    try:
        yield site.start()
    finally:
        site.stop()


def test_three_jobs_are_three_mails(site, postbox):
    site.run("shell", "-c", ORDER).check_returncode()
    # A worker killed while it sends a request would leave a doubt that nobody mails about in time.
    site.wait_until(lambda: site.ask(AT_WORK) == [("accepted", 3)])
    site.kill("q-worker")
    site.wait_until(lambda: len(postbox.taken) == 3)
    assert len({message["Message-ID"] for message in postbox.taken}) == 3
    assert {message["Subject"] for message in postbox.taken} == {"Ready · Counterfoil"}
