"""The database itself: its file, its integrity, and what a restored one must not repeat."""
