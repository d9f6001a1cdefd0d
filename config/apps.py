from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Site"

    def ready(self) -> None:
        from config.checks import exposure, hints, setup, stores  # noqa: F401
        from config.db import migration_history  # noqa: F401
