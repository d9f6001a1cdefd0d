"""A local provider: speaks Polza's wire contract, draws test pictures, misbehaves on demand.

It is a program of its own (`manage.py sandbox`) that knows nothing of the site and its database;
Only `faults` is read by both sides.
"""
