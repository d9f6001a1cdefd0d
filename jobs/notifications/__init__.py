"""What goes out by mail or to an address: alerts to staff, the end of a job to its person."""
