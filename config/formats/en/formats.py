"""How instants are shown by default, as in the admin: to the second, because they are evidence."""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = "j M Y, H:i:s T"
