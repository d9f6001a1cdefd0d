"""The database itself: its file, its integrity, and the connections of a request."""
