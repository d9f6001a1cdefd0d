"""The web process with every patience made short, for tests that watch it run out."""

from config.http import answers, bodies, listener

bodies.WITHIN = 2.0
bodies.PLACE_AFTER = answers.PLACE_AFTER = 0.3
answers.STALLED_AFTER = 3.0
listener.UNREAD_FOR = 3

from config.supervisor.web import application  # noqa: E402

__all__ = ["application"]
