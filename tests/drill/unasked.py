"""What must not leave the site: questions while the provider wished for silence, and downloads that
there is no room for. Pure.
"""

from collections import Counter
from collections.abc import Iterator

from tests.drill.records import Books, Entry
from tests.drill.wrongs import Wrong

# For the answer to be written down, and for what was on its way already.
HEARD_WITHIN = 1.5
# What a worker that was killed meanwhile may add to the first.
MOST_FETCHES = 3
MAY_FORGET = {"ticker", "up"}


def silences_heard(books: Books) -> list[tuple[float, float]]:
    """Those in which nothing kept the ticker from recording the answer."""
    return [
        (at, until)
        for at, until in books.silences
        if not any(
            _may_forget(entry) and entry.at <= until and entry.until >= at - HEARD_WITHIN
            for entry in books.troubles
        )
    ]


def _may_forget(entry: Entry) -> bool:
    if entry.kind == "store":
        return not entry.what.startswith("media")
    return entry.what in MAY_FORGET or entry.what.startswith("poll_")


def wrongs_of_traffic(books: Books) -> Iterator[Wrong]:
    for at, until in silences_heard(books):
        polls = [moment for moment in books.polled if at + HEARD_WITHIN < moment < until]
        if polls:
            says = f"{len(polls)} polls, the first {polls[0] - at:.1f} s into {until - at:.0f} s"
            yield Wrong("polled in silence", "", says)
    for spell in books.troubles:
        if spell.kind == "store" and spell.what.startswith("media"):
            yield from _fetched_in_vain(books, spell)


def _fetched_in_vain(books: Books, spell: Entry) -> Iterator[Wrong]:
    times = Counter(run for run, at in books.fetched if spell.at < at < spell.until)
    for run, number in times.items():
        if number > MOST_FETCHES:
            yield Wrong("fetched in vain", run, f"{number} times during {spell.what}")
