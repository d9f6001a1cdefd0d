"""Log lines without what people wrote: a database names the failing row in its error, prompt and
all, so a traceback is printed with the classes of its errors, not with their texts."""

import logging
import traceback
from collections.abc import Iterator


class Formatter(logging.Formatter):
    def formatException(self, ei) -> str:
        return "\n".join(_lines(ei[1]))


def _lines(error: BaseException | None) -> Iterator[str]:
    """From the error at the bottom to the one that was raised last, as Python prints them."""
    if error is None:
        return
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier:
        yield from _lines(earlier)
        yield "then:"
    yield from (line.rstrip() for line in traceback.format_tb(error.__traceback__))
    yield f"{type(error).__module__}.{type(error).__qualname__}"
