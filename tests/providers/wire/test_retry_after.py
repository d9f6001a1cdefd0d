"""How long a provider asks us to stay away, however it says so."""

import pytest
from requests.structures import CaseInsensitiveDict

from providers.wire.retry_after import read_retry_after


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("5", 5.0),
        (" 5 ", 5.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("-3", 0.0),
        ("120", 120.0),
        ("121", 120.0),
        ("9999999999", 120.0),
        ("1e9", 120.0),
        ("Sat, 14 Mar 2026 12:00:30 GMT", 30.0),
        ("Sat, 14 Mar 2026 14:00:30 +0200", 30.0),
        ("Sat, 14 Mar 2026 12:00:30", 30.0),
        ("Sat, 14 Mar 2026 12:00:30 -0000", 30.0),
        ("Sat, 14 Mar 2026 11:59:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 -2359", 120.0),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
    ],
)
def test_wait_is_read_and_kept_between_0_and_120_seconds(now, said, seconds):
    assert read_retry_after({"Retry-After": said}, now) == seconds


@pytest.mark.parametrize(
    "said",
    ["", " ", "soon", "nan", "inf", "-inf", "9" * 400, "1, 2", "12:00", "5s", "Sat, 14 Mar",
     "Sat, 99 Mar 2026 12:00:30 GMT", "Wed, 1 Oct 99999999999999999999 07:28:00 GMT",
     "Sat, 14 Mar 2026 12:00:30 +99999999999", "\x00"],
)  # fmt: skip
def test_what_cannot_be_read_is_no_wait(now, said):
    assert read_retry_after({"Retry-After": said}, now) is None


def test_no_header_is_no_wait(now):
    assert read_retry_after({}, now) is None


@pytest.mark.parametrize(("said", "seconds"), [("1500", 1.5), ("-1", 0.0), ("9e9", 120.0)])
def test_milliseconds_come_first(now, said, seconds):
    headers = CaseInsensitiveDict({"Retry-After-Ms": said, "Retry-After": "60"})
    assert read_retry_after(headers, now) == seconds


def test_garbage_in_milliseconds_leaves_the_seconds(now):
    headers = CaseInsensitiveDict({"retry-after-ms": "soon", "RETRY-AFTER": "60"})
    assert read_retry_after(headers, now) == 60
