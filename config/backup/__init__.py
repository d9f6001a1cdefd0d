"""`manage.py backup` and `manage.py restore`.

    backup   database ──> files ──> secret_key ──> manifest (last: without it a folder is no backup)
    restore  verify all ──> database into a draft, migrated and taken over ──> files ──> secret_key
             ──> the draft takes the database's place, in one rename

A restore that is killed leaves the old database or the new one, and may be run again.
"""


class Failed(Exception):
    """The backup or the restore cannot go on; the text is one line for the operator."""
