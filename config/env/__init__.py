"""Reading the environment. A bad value is one line that names its setting."""

from config.env.addresses import (
    read_base_url,
    read_host,
    read_origins,
    read_redis_url,
    read_secret_url,
    read_site_url,
    to_ascii_host,
)
from config.env.definitions import Help, group
from config.env.dotenv import load_dotenv, mistyped_names
from config.env.hosts import bracketed
from config.env.mail import read_addresses, read_sender
from config.env.money import read_allowances, read_money, read_prices
from config.env.values import (
    read_bool,
    read_choice,
    read_duration,
    read_file,
    read_int,
    read_lag,
    read_models,
    read_seconds,
    read_secret,
    read_str,
    read_words,
)

__all__ = [
    "Help",
    "bracketed",
    "group",
    "load_dotenv",
    "mistyped_names",
    "read_addresses",
    "read_allowances",
    "read_base_url",
    "read_bool",
    "read_choice",
    "read_duration",
    "read_file",
    "read_host",
    "read_int",
    "read_lag",
    "read_models",
    "read_money",
    "read_origins",
    "read_prices",
    "read_redis_url",
    "read_seconds",
    "read_secret",
    "read_secret_url",
    "read_sender",
    "read_site_url",
    "read_str",
    "read_words",
    "to_ascii_host",
]
