"""The web process with every patience made short, for tests that watch it run out."""

from config import bodies

bodies.WITHIN = 2.0
bodies.PLACE_AFTER = 0.3

from config.supervisor.web import application  # noqa: E402

__all__ = ["application"]
