from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        # Users are deleted by the admin, by commands and in a shell.
        from jobs.people import deletion  # noqa: F401
