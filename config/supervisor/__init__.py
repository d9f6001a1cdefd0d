"""`manage.py up` keeps the house: it starts web, cluster, ticker and sandbox, and ends them.

Whatever happens to any of them, or to `up` itself, no process is left behind and none is missing
for long. Each one leads a session of its own, so that its whole group can be ended at once.
"""
