"""How instants are shown where no page says how: in the admin, as evidence, to the second."""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = "j M Y, H:i:s T"
