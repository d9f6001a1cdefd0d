"""Times and sizes of the engine that no operator has a reason to change.

They are settings without a variable in the environment. Tests that run whole sites scale them
(tests/scaled.py).
"""

from datetime import timedelta

# A worker without a heartbeat keeps its work this long; one known to be dead loses it at once.
LEASE_LASTS = timedelta(seconds=30)
# Pause between two rounds of the ticker, and how long one ticker keeps the duty.
TICK_EVERY = 0.25
TICKER_LEASE_LASTS = timedelta(seconds=5)
# A message that no worker took is sent again after this.
WAKE_AGAIN_AFTER = timedelta(seconds=5)
# Polls that the ticker runs at the same time.
POLL_THREADS = 64
# How often a call in doubt is polled; after a day, twenty times more seldom.
SLOW_POLL_EVERY = timedelta(seconds=30)
# How often the cluster's heartbeat is checked, and the silence after which it is restarted.
PROBE_EVERY = 2.0
PROBE_TIMEOUT = 8.0
# The longest a task of the queue may take. It must exceed each provider's answer timeout, or
# the queue would end a worker in the middle of a paid request.
JOB_TIMEOUT = 18 * 60

# Requests to providers. One that could not leave within SEND_WITHIN is not sent.
SEND_WITHIN = timedelta(seconds=10)
CONNECT_TIMEOUT = 5.0
# The longest a poll and a fetch may take in all; for a submit it belongs to the adapter.
POLL_TIMEOUT = 15.0
FETCH_TIMEOUT = 120.0
# A run that is complete without output is polled this long before it counts as failed.
NO_OUTPUT_WAIT = timedelta(seconds=120)
# No request goes to a model after an error (or a 429 without Retry-After) for this long.
ERROR_PAUSE = timedelta(seconds=30)
# The same of a provider that refused the key or the balance.
EXHAUSTED_PAUSE = timedelta(seconds=600)

# How long a test picture takes, and how long a minute of the sandbox's slow faults lasts, in
# seconds.
SANDBOX_SECONDS = 4.0
SANDBOX_MINUTE = 60.0
# What the adapter of the sandbox knows of it: seconds of silence, seconds for an answer in all, and
# how long results are kept.
SANDBOX_SILENCE_TIMEOUT = 30.0
SANDBOX_ANSWER_TIMEOUT = 60.0
SANDBOX_RESULT_RETENTION = timedelta(days=7)
# How the sandbox signs its webhooks: HINT (unsigned), STANDARD (Replicate, OpenAI), ED25519 (fal).
SANDBOX_HOOKS = "HINT"
# PEM files with which the sandbox speaks TLS.
SANDBOX_CERTFILE = ""
SANDBOX_KEYFILE = ""
