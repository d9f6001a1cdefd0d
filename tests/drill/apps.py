from django.apps import AppConfig


class DrillConfig(AppConfig):
    name = "tests.drill"

    def ready(self) -> None:
        from tests.drill import clock, mutants, scales

        clock.install()
        scales.install()
        mutants.install()
