"""Settings of a site process in a test: the product's, whose constants the environment replaces.

Such as LEASE_LASTS=1.5, in seconds. A site without one of these runs the product's own settings.
"""

import os
from datetime import timedelta

from config import constants
from config.settings import *  # noqa: F403

CONSTANTS = {name: value for name, value in vars(constants).items() if name.isupper()}


def convert(text: str, like: object) -> object:
    """To the type of the constant that it replaces."""
    if isinstance(like, timedelta):
        return timedelta(seconds=float(text))
    return type(like)(text)  # type: ignore[call-arg]


globals().update(
    {
        name: convert(os.environ[name], value)
        for name, value in CONSTANTS.items()
        if os.environ.get(name)
    }
)
