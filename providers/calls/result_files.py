"""Results of calls: an address each, or a file with the bytes that came inside the answer.

MUST rules: the file is on the disk before the row that names it, so it is written before the
transaction that records the outcome; no row holds the bytes in any encoding. Results have a table
of their own, since pages and polls read calls all the time and results hardly ever.
"""

import hashlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from providers.calls.models import Call, CallResult
from providers.outcomes import Artifact, storable
from providers.wire.picture_files import decode_base64

FOLDER = "results"

Store = Callable[[str, bytes], object]


@dataclass(frozen=True)
class Inline:
    """`is_encoded`: the content could not be decoded and is kept as it came."""

    content: bytes
    is_encoded: bool


def keep_inline(call: Call, artifacts: Sequence[Artifact], store: Store) -> tuple[Artifact, ...]:
    """The artifacts with their bytes in files. `store(name, content)` writes and syncs a file; what
    it raises is raised here. Never inside a transaction."""
    known = {
        result.sha256: result.file for result in CallResult.objects.filter(call=call).with_file()
    }
    return tuple(_keep(call, artifact, known, store) for artifact in artifacts)


def drop_inline(artifacts: Sequence[Artifact]) -> tuple[Artifact, ...]:
    """Only what can be fetched from an address; the rest is polled again."""
    plain = (replace(artifact, url=_plain_url(artifact), b64="") for artifact in artifacts)
    return tuple(artifact for artifact in plain if artifact.url)


def write_rows(call_id: int, artifacts: Sequence[Artifact]) -> None:
    """Replace the results of a call. Inside the transaction that records them."""
    if any(artifact.b64 or artifact.url != _plain_url(artifact) for artifact in artifacts):
        raise ValueError("bytes of a result belong in a file")
    CallResult.objects.filter(call=call_id).delete()
    CallResult.objects.bulk_create(
        CallResult(
            call_id=call_id,
            position=position,
            url=storable(artifact.url, len(artifact.url)),
            file=artifact.file,
            is_encoded=artifact.is_encoded,
            size=artifact.size,
            sha256=artifact.sha256,
        )
        for position, artifact in enumerate(artifacts)
    )


def read_rows(call: Call) -> list[Artifact]:
    return [
        Artifact(
            url=row.url,
            file=row.file,
            is_encoded=row.is_encoded,
            size=row.size,
            sha256=row.sha256,
        )
        for row in CallResult.objects.filter(call=call).order_by("position")
    ]


def forget_files(results: Sequence[CallResult]) -> list[str]:
    """The names of the files, which may be removed after the commit: no row names them any more."""
    CallResult.objects.filter(pk__in=[result.pk for result in results]).update(file="")
    return [result.file for result in results if result.file]


def _keep(call: Call, artifact: Artifact, known: dict[str, str], store: Store) -> Artifact:
    inline = decode_inline(artifact)
    if inline is None:
        return artifact
    sha256 = hashlib.sha256(inline.content).hexdigest()
    name = known.get(sha256)
    if name is None:
        # A new name each time: housekeeping may be removing what a dead process left behind.
        name = f"{FOLDER}/{call.pk % 256:02x}/{call.pk}-{uuid.uuid4().hex}.bin"
        store(name, inline.content)
    return Artifact(
        url=_plain_url(artifact),
        file=name,
        is_encoded=inline.is_encoded,
        size=len(inline.content),
        sha256=sha256,
    )


def decode_inline(artifact: Artifact) -> Inline | None:
    """The bytes that came inside the answer; None for an address."""
    text = artifact.b64 or (artifact.url if artifact.url != _plain_url(artifact) else "")
    if not text:
        return None
    content = decode_base64(text)
    if content is None:
        return Inline(text.encode("utf-8", "replace"), is_encoded=True)
    return Inline(content, is_encoded=False)


def _plain_url(artifact: Artifact) -> str:
    return "" if artifact.url[:5].lower() == "data:" else artifact.url
