"""Files that must be refused, each made here, with the reason to give."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)

from jobs.contracts.reading.filetypes import MOST_BYTES
from jobs.contracts.reading.refusals import Reason

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
    'officeDocument" Target="word/document.xml"/></Relationships>'
)
DEFAULT_BODY = "<w:p><w:r><w:t>The Customer pays the fees.</w:t></w:r></w:p>"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


def docx(body: str = DEFAULT_BODY, **parts: str | bytes) -> bytes:
    """A DOCX of these paragraphs; further parts by their path, `/` written as `__`."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
        )
        for path, content in parts.items():
            archive.writestr(path.replace("__", "/"), content)
    return file.getvalue()


def with_document(xml: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("word/document.xml", xml)
    return file.getvalue()


def archive_of(**files: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return file.getvalue()


def duplicate() -> bytes:
    file = io.BytesIO(docx())
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("WORD/document.xml", "<w/>")
    return file.getvalue()


def locked_entry() -> bytes:
    data = bytearray(docx())
    # The first bit of an entry's flags says that it is encrypted.
    start = data.index(b"PK\x01\x02")
    data[start + 8] |= 1
    return bytes(data)


def pdf(*contents: bytes, **options: object) -> bytes:
    """A PDF with these content streams, one a page, in Helvetica."""
    return written(writer_of(*contents), **options)


def writer_of(*contents: bytes) -> PdfWriter:
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for content in contents:
        page = writer.add_blank_page(612, 792)
        stream = DecodedStreamObject()
        stream.set_data(content)
        page[NameObject("/Contents")] = writer._add_object(stream)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
    return writer


def written(writer: PdfWriter, password: str | None = None, algorithm: str = "AES-256") -> bytes:
    if password is not None:
        writer.encrypt(user_password=password, owner_password="owner", algorithm=algorithm)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def text(*lines: str) -> bytes:
    shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
    return f"BT /F1 11 Tf 72 720 Td {shown} ET".encode("latin-1")


WORDS = text("1. Payment. The Customer pays the fees.", "2. Term. The term is a year.")


def scan() -> bytes:
    writer = writer_of(b"q 612 0 0 792 0 0 cm /I1 Do Q")
    image = StreamObject()
    image.set_data(zlib.compress(bytes(100)))
    image.update(
        {
            NameObject("/Type"): NameObject("/XObject"),
            NameObject("/Subtype"): NameObject("/Image"),
            NameObject("/Width"): NumberObject(10),
            NameObject("/Height"): NumberObject(10),
            NameObject("/ColorSpace"): NameObject("/DeviceGray"),
            NameObject("/BitsPerComponent"): NumberObject(8),
            NameObject("/Filter"): NameObject("/FlateDecode"),
        }
    )
    objects = DictionaryObject({NameObject("/I1"): writer._add_object(image)})
    writer.pages[0]["/Resources"][NameObject("/XObject")] = objects
    return written(writer)


def xfa() -> bytes:
    writer = writer_of(text("Please wait... If this message is not replaced, upgrade."))
    form = DictionaryObject({NameObject("/XFA"): TextStringObject("<xdp/>")})
    writer._root_object[NameObject("/AcroForm")] = form
    return written(writer)


def portfolio() -> bytes:
    writer = writer_of(text("Open this portfolio in another viewer."))
    writer._root_object[NameObject("/Collection")] = DictionaryObject()
    return written(writer)


def flate_bomb() -> bytes:
    writer = writer_of(b"")
    page = writer.pages[0]
    stream = StreamObject()
    stream._data = zlib.compress(b" " * 200_000_000, 9)
    stream[NameObject("/Filter")] = ArrayObject([NameObject("/FlateDecode")])
    page[NameObject("/Contents")] = writer._add_object(stream)
    return written(writer)


def entities() -> bytes:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    return (
        f'<!DOCTYPE d [<!ENTITY e0 "ha">{levels}]>'
        f'<w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p>'
        "</w:body></w:document>"
    ).encode()


def external_entity() -> bytes:
    return (
        '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        f'<w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>&x;</w:t></w:r></w:p>'
        "</w:body></w:document>"
    ).encode()


BAD: dict[str, tuple[str, Callable[[], bytes], Reason]] = {
    "empty": ("a.txt", lambda: b"", Reason.EMPTY),
    "blanks only": ("a.md", lambda: b" \r\n\t ", Reason.EMPTY),
    "byte order mark only": ("a.txt", lambda: b"\xef\xbb\xbf", Reason.EMPTY),
    "over 20 MiB": ("a.txt", lambda: b"word " * (MOST_BYTES // 5 + 1), Reason.TOO_LARGE),
    "only marks": ("a.txt", lambda: b"--- *** ---\n", Reason.NO_TEXT),
    "PDF with a password, AES-256": (
        "a.pdf", lambda: pdf(WORDS, password="secret"), Reason.PASSWORD,
    ),
    "PDF with a password, AES-128": (
        "a.pdf", lambda: pdf(WORDS, password="secret", algorithm="AES-128"), Reason.PASSWORD,
    ),
    "PDF with a password, RC4": (
        "a.pdf", lambda: pdf(WORDS, password="secret", algorithm="RC4-128"), Reason.PASSWORD,
    ),
    "PDF over 500 pages": ("a.pdf", lambda: pdf(*[b""] * 501), Reason.TOO_MANY_PAGES),
    "PDF of an image": ("a.pdf", scan, Reason.SCAN),
    "PDF of blank pages": ("a.pdf", lambda: pdf(b"", b""), Reason.NO_TEXT),
    "PDF of codes": ("a.pdf", lambda: pdf(text("\x80\x81\x8d\x90\x9d\x7f" * 30)), Reason.GARBAGE),
    "PDF of shifted letters": (
        "a.pdf", lambda: pdf(text(*["wkh fxvwrphu sdbv wkh ihhv wr wkh surylghu"] * 9)),
        Reason.GARBAGE,
    ),
    "PDF cut short": ("a.pdf", lambda: pdf(WORDS)[:120], Reason.DAMAGED),
    "PDF in name only": ("a.pdf", lambda: b"%PDF-1.7\nnothing follows", Reason.DAMAGED),
    "PDF that is an XFA form": ("a.pdf", xfa, Reason.XFA),
    "PDF that is a portfolio": ("a.pdf", portfolio, Reason.PORTFOLIO),
    "PDF bomb": ("a.pdf", flate_bomb, Reason.BOMB),
    "DOCX bomb": ("a.docx", lambda: docx(word__big="0" * 120_000_000), Reason.BOMB),
    "DOCX with many parts": (
        "a.docx", lambda: docx(**{f"word__p{n}": "" for n in range(5_100)}), Reason.BOMB,
    ),
    "DOCX with an archive inside": (
        "a.docx", lambda: docx(word__inner=archive_of(a=b"b")), Reason.NESTED,
    ),
    "archive in an archive": ("a.zip", lambda: archive_of(inner=archive_of(a=b"b")), Reason.NESTED),
    "plain archive": ("a.docx", lambda: archive_of(contract__txt=b"text"), Reason.ARCHIVE),
    "gzip": ("a.txt", lambda: gzip.compress(b"text" * 99), Reason.ARCHIVE),
    "DOCX with entities": ("a.docx", lambda: with_document(entities()), Reason.ENTITIES),
    "DOCX with an external entity": (
        "a.docx", lambda: with_document(external_entity()), Reason.ENTITIES,
    ),
    "DOCX with a part twice": ("a.docx", duplicate, Reason.AMBIGUOUS),
    "DOCX cut short": ("a.docx", lambda: docx()[:-40], Reason.DAMAGED),
    "DOCX that is no XML": ("a.docx", lambda: with_document(b"<w:document"), Reason.DAMAGED),
    "DOCX without text": ("a.docx", lambda: docx("<w:p/>"), Reason.NO_TEXT),
    "DOCX with a locked entry": ("a.docx", locked_entry, Reason.PASSWORD),
    "DOCX with a password": (
        "a.docx", lambda: OLE + "EncryptedPackage".encode("utf-16-le"), Reason.PASSWORD,
    ),
    "old .doc": ("a.doc", lambda: OLE + "WordDocument".encode("utf-16-le"), Reason.OLD_WORD),
    "PNG": ("a.png", lambda: b"\x89PNG\r\n\x1a\n" + bytes(99), Reason.IMAGE),
    "JPEG as PDF": ("a.pdf", lambda: b"\xff\xd8\xff\xe0" + bytes(99), Reason.IMAGE),
    "program as text": ("a.txt", lambda: b"\x7fELF" + bytes(range(256)) * 9, Reason.BINARY),
    "random bytes as Markdown": ("a.md", lambda: bytes(range(1, 32)) * 99, Reason.BINARY),
    "HTML without text": ("a.html", lambda: b"<html><script>x()</script></html>", Reason.NO_TEXT),
}  # fmt: skip
