"""The web process's entry point."""

import os
import warnings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Each request runs in a thread of its own here, so a kept connection would never be used again.
os.environ.setdefault("CONN_MAX_AGE", "0")
os.environ.setdefault("DATABASE_POOL", "20")

from django.core.asgi import get_asgi_application

from config.bodies import bounded

# Said of the static files: WhiteNoise reads them whole, and they are small.
warnings.filterwarnings("ignore", "StreamingHttpResponse must consume synchronous iterators")

application = bounded(get_asgi_application())
