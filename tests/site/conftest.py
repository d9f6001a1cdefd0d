"""Whole sites for the tests here, ended whatever a test did to them."""

import pytest

from tests import databases
from tests.site_process import Site


@pytest.fixture
def start_site(tmp_path):
    """start_site(POLL_EVERY="0.2", ...) runs `manage.py up` for this test alone."""
    sites = []

    def start(*, is_prepared: bool = True, **settings: str) -> Site:
        folder = tmp_path / f"site{len(sites)}"
        folder.mkdir()
        sites.append(Site(folder, is_prepared=is_prepared, **settings))
        return sites[-1].start()

    yield start
    for site in sites:
        site.stop()


@pytest.fixture
def site(start_site) -> Site:
    """A site to end: SQLite, the queue in the database, the sandbox."""
    return start_site()


@pytest.fixture(scope="module")
def lasting_site(tmp_path_factory):
    """One site for the tests of a file that kill parts of it and see it mend. It began with an
    empty folder."""
    site = Site(tmp_path_factory.mktemp("lasting"), is_prepared=False)
    try:
        yield site.start()
    finally:
        site.stop()


@pytest.fixture
def mended_site(lasting_site) -> Site:
    """The lasting site, once the test before is healed."""
    lasting_site.wait_until(lasting_site.is_whole)
    return lasting_site


@pytest.fixture
def grown_site(start_site, postgres_url, redis_url):
    """On PostgreSQL, with Redis as the queue. It began with an empty database."""
    with databases.postgres_copy(postgres_url) as database:
        site = start_site(is_prepared=False, DATABASE_URL=database.url, REDIS_URL=redis_url)
        yield site
        site.stop()
