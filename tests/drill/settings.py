"""The settings of a site in a drill: the usual ones, and an app that replaces its clock."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.drill"]
