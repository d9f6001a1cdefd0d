"""The parts of a DOCX, opened with suspicion: sizes are counted while reading, not believed."""

import io
import zipfile
import zlib

from lxml import etree

from jobs.contracts.reading.refusals import Reason, Unreadable

MOST_ENTRIES = 5_000
MOST_BYTES = 100 * 2**20
MOST_OF_PART = 40 * 2**20
ARCHIVES = (
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"BZh",
    b"\xfd7zXZ",
)
MAIN = "officeDocument"


class Archive:
    def __init__(self, data: bytes) -> None:
        try:
            self.zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise Unreadable(Reason.DAMAGED) from error
        self.read_bytes = 0
        entries = self.zip.infolist()
        self.names = {entry.filename for entry in entries}
        if len(entries) > MOST_ENTRIES or sum(entry.file_size for entry in entries) > MOST_BYTES:
            raise Unreadable(Reason.BOMB)
        if len({name.lower() for name in self.names}) != len(entries):
            raise Unreadable(Reason.AMBIGUOUS)
        if any(entry.flag_bits & 1 for entry in entries):
            raise Unreadable(Reason.PASSWORD)

    def part(self, name: str) -> bytes:
        """A part's bytes; empty where the file has none. A declared size may lie."""
        if name not in self.names:
            return b""
        try:
            with self.zip.open(name) as source:
                data = source.read(MOST_OF_PART + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
            raise Unreadable(Reason.DAMAGED) from error
        self.read_bytes += len(data)
        if len(data) > MOST_OF_PART or self.read_bytes > MOST_BYTES:
            raise Unreadable(Reason.BOMB)
        return data

    def xml(self, name: str) -> etree._Element | None:
        data = self.part(name)
        return parse_xml(data) if data else None

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """By id: the last word of its type and its target, for one part."""
        folder, _, file = name.rpartition("/")
        root = self.xml(f"{folder}/_rels/{file}.rels".lstrip("/"))
        if root is None:
            return {}
        return {
            item.get("Id", ""): (
                item.get("Type", "").rpartition("/")[2],
                resolve(folder, item.get("Target", "")),
            )
            for item in root
            if item.get("TargetMode") != "External"
        }

    def main_part(self) -> str:
        targets = [target for kind, target in self.relations("").values() if kind == MAIN]
        if len(targets) > 1:
            raise Unreadable(Reason.AMBIGUOUS)
        return targets[0] if targets else ""

    def refuse_nested(self) -> None:
        for name in self.names:
            if not name.endswith("/") and "/embeddings/" not in name:
                with self.zip.open(name) as source:
                    if source.read(8).startswith(ARCHIVES):
                        raise Unreadable(Reason.NESTED)


def resolve(folder: str, target: str) -> str:
    return target.lstrip("/") if target.startswith("/") else f"{folder}/{target}".lstrip("/")


def parse_xml(data: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        reason = Reason.ENTITIES if b"<!DOCTYPE" in data[:2000] else Reason.DAMAGED
        raise Unreadable(reason) from error
    if root.getroottree().docinfo.doctype:
        raise Unreadable(Reason.ENTITIES)
    return root
