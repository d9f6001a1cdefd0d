"""What the tests of pages share, for cases that need the same."""

from tests.jobs.conftest import *  # noqa: F403
from tests.providers.conftest import *  # noqa: F403
