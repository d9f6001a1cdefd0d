"""One damage for each check of the audit, told apart by what is harmed."""

from tests.jobs.damages import of_calls, of_jobs, of_quota  # noqa: F401  they plant by being read
from tests.jobs.damages.planting import DAMAGES, forget, replace_field

__all__ = ["DAMAGES", "forget", "replace_field"]
