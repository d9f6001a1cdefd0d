"""What the staff's board shows: rows of the database as plain values.

Each function that reads is one query. Its cost depends on what is open or of today, never on the
history. Nothing here writes.
"""
