"""Find the pictures in a provider's answer, however it spells them.

The structure decides. An address or bytes count only under a key that names a result; an address
under any other key may be a callback, a thumbnail or the input. What is ambiguous is
`unread`: something is there, and staff look at it. A picture is never guessed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from providers.outcomes import Artifact

MOST_DEPTH = 8
MOST_RESULTS = 20
MOST_ADDRESS = 8192
# Keys are compared without case and punctuation: `image_url`, `imageUrl`.
ADDRESSES = frozenset({
    "url", "urls", "uri", "href", "src", "imageurl", "imageurls", "imageuri", "fileurl",
    "downloadurl", "resulturl", "outputurl", "signedurl",
})  # fmt: skip
ENCODED = frozenset({
    "b64json", "b64", "base64", "imagebase64", "imageb64", "b64image", "base64image",
    "bytesbase64encoded", "bytes",
})  # fmt: skip
NESTED = frozenset({
    "data", "output", "outputs", "result", "results", "image", "images", "file", "files", "item",
    "items", "picture", "pictures", "artifact", "artifacts", "asset", "assets", "generation",
    "generations", "inlinedata", "choices", "candidates", "message", "content", "parts", "sample",
    "samples",
})  # fmt: skip
# Of these a plain text is what the model wrote, and no picture.
WRITTEN = frozenset({"content", "message"})
# Keys that describe a result and hold none.
DESCRIBING = frozenset({
    "id", "object", "type", "kind", "role", "index", "status", "state", "created", "createdat",
    "completedat", "updatedat", "model", "name", "title", "text", "caption", "alt", "description",
    "revisedprompt", "prompt", "reason", "finishreason", "seed", "width", "height", "size",
    "format", "mimetype", "mediatype", "contenttype", "filename", "extension", "duration", "nsfw",
    "expiresat", "usage", "cost",
})  # fmt: skip
# What holds addresses that are no result, by how the key begins.
ASIDE = re.compile(
    r"callback|web_?hook|hook|thumb|preview|avatar|logo|icon|doc|help|input|source|init|ref|mask"
    r"|prompt|request|response_?url|status|cancel|poll|profile|user|owner|model|provider|error"
    r"|usage|log|meta|debug|get$|self$|web$",
    re.IGNORECASE,
)
SMALL = re.compile(r"thumb|preview", re.IGNORECASE)
NO_VALUE = frozenset({"", "null", "none", "undefined", "n/a"})
BASE64 = re.compile(r"[A-Za-z0-9+/_-]+=*")
LEAST_BASE64 = 128
# How the base64 of a PNG, a JPEG, a WebP, a GIF begins; a JPEG's looks like a path.
BASE64_BEGINNINGS = ("iVBOR", "/9j/", "_9j_", "UklGR", "R0lGOD")
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
FILE_NAME = re.compile(r"\S+\.(png|jpe?g|webp|gif|avif|bmp|tiff?|heic|svg)(\?\S*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Output:
    """`unread`: there is something that may be a result, and it was not understood."""

    artifacts: tuple[Artifact, ...] = ()
    unread: bool = False


NOTHING = Output()
UNREAD = Output(unread=True)


def read_output(answer: dict[str, Any], base_url: str) -> Output:
    """The results of a finished run; relative addresses are those of `base_url`. `data` comes
    first, then any other usual key."""
    found = _walk(answer.get("data"), 0)
    if found == NOTHING:
        known = ADDRESSES | ENCODED | NESTED
        others = {key: said for key, said in answer.items() if _plain(key) in known}
        found = _read_object(others, 0) if others else NOTHING
    if found == NOTHING and _holds_address(answer, 0):
        found = UNREAD
    artifacts = tuple(dict.fromkeys(_resolve(artifact, base_url) for artifact in found.artifacts))
    is_long = len(artifacts) > MOST_RESULTS
    return Output(artifacts[:MOST_RESULTS], found.unread or is_long)


def _walk(said: Any, depth: int) -> Output:
    if depth > MOST_DEPTH:
        return UNREAD
    if isinstance(said, dict):
        return _read_object(said, depth)
    if isinstance(said, list):
        outputs = (_walk(entry, depth + 1) for entry in said)
        found = list(outputs)
        artifacts = tuple(artifact for output in found for artifact in output.artifacts)
        return Output(artifacts, any(output.unread for output in found))
    if isinstance(said, str):
        return _read_text(said)
    return UNREAD if said else NOTHING


def _read_object(said: dict[str, Any], depth: int) -> Output:
    """One result, or a box around several. Where its keys name different ones it is ambiguous."""
    if _is_aside(said):
        return NOTHING
    keys = {key: _plain(key) for key in said}
    boxes = [_walk_box(plain, said[key], depth) for key, plain in keys.items() if plain in NESTED]
    addresses = [_read_address(said[key], depth) for key in said if keys[key] in ADDRESSES]
    encoded = [_read_encoded(said[key], depth) for key in said if keys[key] in ENCODED]
    found = _only_one(_pair(_only_one(addresses), _only_one(encoded)), *boxes)
    if found.artifacts or found.unread:
        return found
    known = ADDRESSES | ENCODED | NESTED | DESCRIBING
    rest = (said[key] for key, plain in keys.items() if plain not in known and not _skips(key))
    return UNREAD if any(map(says_something, rest)) else NOTHING


def _walk_box(key: str, said: Any, depth: int) -> Output:
    if key in WRITTEN and isinstance(said, str):
        return NOTHING
    return _walk(said, depth + 1)


def _read_address(said: Any, depth: int) -> Output:
    if not isinstance(said, str):
        return _walk(said, depth + 1)
    text = _without_breaks(said)
    if text.lower() in NO_VALUE:
        return NOTHING
    if _is_base64(text):
        return Output((Artifact(b64=text),))
    return Output((Artifact(url=text),)) if _can_be_fetched(text) else UNREAD


def _read_encoded(said: Any, depth: int) -> Output:
    if not isinstance(said, str):
        return _walk(said, depth + 1)
    if said.strip().lower() in NO_VALUE:
        return NOTHING
    is_address = said.lstrip()[:8].lower().startswith(("http://", "https://"))
    return _read_address(said, depth) if is_address else Output((Artifact(b64=said),))


def _read_text(said: str) -> Output:
    """A bare text: an address, bytes, the name of something, or plain words."""
    text = _without_breaks(said)
    if _is_base64(text):
        return Output((Artifact(b64=text),))
    if SCHEME.match(text) and (text[:5].lower() == "data:" or "://" in text):
        return Output((Artifact(url=text),)) if _can_be_fetched(text) else UNREAD
    if " " in text or text.isalpha() or not text:
        return NOTHING
    is_path = len(text) <= MOST_ADDRESS and (text.startswith("/") or FILE_NAME.fullmatch(text))
    return Output((Artifact(url=text),)) if is_path else UNREAD


def _pair(address: Output, encoded: Output) -> Output:
    """The address and the bytes of one result are two ways to the same picture."""
    if len(address.artifacts) == len(encoded.artifacts) == 1:
        url, b64 = address.artifacts[0].url, encoded.artifacts[0].b64
        return Output((Artifact(url=url, b64=b64),))
    return _only_one([address, encoded])


def _only_one(first: Output | Iterable[Output], *others: Output) -> Output:
    outputs = [first, *others] if isinstance(first, Output) else list(first)
    said = list(dict.fromkeys(output for output in outputs if output != NOTHING))
    if not said:
        return NOTHING
    read = [output for output in said if output.artifacts]
    if len(read) == 1:
        return read[0]
    return said[0] if len(said) == 1 else UNREAD


def _is_aside(said: dict[str, Any]) -> bool:
    """An entry that calls itself a thumbnail, an input and the like."""
    words = (said.get(key) for key in ("type", "kind", "role", "purpose"))
    return any(isinstance(word, str) and ASIDE.match(word) for word in words)


def _skips(key: str) -> bool:
    """A small picture in the place of the result is no result, but staff should see it."""
    return bool(ASIDE.match(key)) and not SMALL.match(key)


def says_something(said: Any, depth: int = 0) -> bool:
    if isinstance(said, dict | list):
        inside = said.values() if isinstance(said, dict) else said
        return depth > MOST_DEPTH or any(says_something(inner, depth + 1) for inner in inside)
    return said.strip().lower() not in NO_VALUE if isinstance(said, str) else bool(said)


def _holds_address(said: Any, depth: int) -> bool:
    """At any depth, under a key with no known meaning."""
    if depth > MOST_DEPTH:
        return True
    if isinstance(said, str):
        return said[:8].lower().startswith(("http://", "https://", "data:")) or _is_base64(said)
    return any(_holds_address(inner, depth + 1) for inner in _inside(said))


def _inside(said: Any) -> Iterator[Any]:
    if isinstance(said, list):
        yield from said
    elif isinstance(said, dict) and not _is_aside(said):
        for key, inner in said.items():
            is_written = _plain(key) in WRITTEN and isinstance(inner, str)
            if not ASIDE.match(key) and not is_written:
                yield inner


def _is_base64(text: str) -> bool:
    if text.startswith(BASE64_BEGINNINGS) and len(text) > 40:
        return True
    return len(text) >= LEAST_BASE64 and bool(BASE64.fullmatch(text[:4096]))


def _can_be_fetched(text: str) -> bool:
    scheme = SCHEME.match(text)
    return not scheme or scheme[0].lower() in ("http:", "https:", "data:")


def _without_breaks(text: str) -> str:
    """As a browser reads an address: no white space around it, no line break in it."""
    return re.sub(r"[\t\r\n]", "", text).strip()


def _plain(key: str) -> str:
    return re.sub(r"[^a-z0-9]", "", key.lower())


def _resolve(artifact: Artifact, base_url: str) -> Artifact:
    url = artifact.url
    if not url or url[:5].lower() == "data:":
        return artifact
    try:
        url = urljoin(f"{base_url.rstrip('/')}/", url)
        urlsplit(url)
    except ValueError:
        pass  # refused as an address when it is fetched
    return Artifact(url=url, b64=artifact.b64)
