from django.apps import AppConfig


class DrillConfig(AppConfig):
    name = "config.drill"

    def ready(self) -> None:
        from config.drill import clock, mutants, scales

        clock.install()
        scales.install()
        mutants.install()
