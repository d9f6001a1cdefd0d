"""What a reader sees of each format is read in order and once, with a remark on the rest."""

import pytest
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    TextStringObject,
)

from jobs.contracts.reading.blocks import Kind
from jobs.contracts.reading.extraction import extract
from jobs.contracts.reading.formats.plain import decode
from tests.jobs.contracts.bad_files import docx, pdf, text, writer_of, written
from tests.jobs.contracts.documents import FOLDER

NUMBERING = (
    '<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    '<w:abstractNum w:abstractNumId="0">'
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    '<w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    '<w:lvlText w:val="%1.%2"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/>'
    '<w:lvlText w:val="(%3)"/></w:lvl>'
    '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">'
    '<w:startOverride w:val="1"/></w:lvlOverride></w:num></w:numbering>'
)
RELATED = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    + "".join(
        f'<Relationship Id="{part}" Type="http://x/relationships/{part}" Target="{part}.xml"/>'
        for part in ("numbering", "footnotes", "comments")
    )
    + "</Relationships>"
)


def run(words, properties=""):
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{words}</w:t></w:r>'


def paragraph(content, properties=""):
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def numbered(words, level=0, number=1):
    ids = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return paragraph(run(words), ids)


def read(*paragraphs, **parts):
    data = docx(
        "".join(paragraphs),
        **{"word___rels__document.xml.rels": RELATED, "word__numbering.xml": NUMBERING, **parts},
    )
    return extract(data, "a.docx")


def test_docx_shows_the_numbers_that_word_prints():
    found = read(
        numbered("One"), numbered("Fees", 1), numbered("Term", 1), numbered("x", 2),
        numbered("y", 2),
        numbered("Two"), numbered("Law", 1), paragraph(run("between")), numbered("Court", 1),
        numbered("Again", 0, 2),
    )  # fmt: skip
    assert [block.number for block in found.blocks] == [
        "1.", "1.1", "1.2", "(a)", "(b)", "2.", "2.1", "", "2.2", "1.",
    ]  # fmt: skip


def test_docx_keeps_insertions_and_leaves_out_deletions():
    deleted = "<w:del><w:r><w:delText>thirty</w:delText></w:r></w:del>"
    found = read(
        paragraph(run("within ") + deleted + f"<w:ins>{run('sixty')}</w:ins>" + run(" days"))
    )
    assert found.text == "within sixty days"
    assert dict(found.remarks) == {"deletions_left_out": 1, "insertions_kept": 1}


def test_docx_moves_are_read_at_their_new_place():
    found = read(
        paragraph(f"<w:moveFrom>{run('Fees.')}</w:moveFrom>" + run("Term.")),
        paragraph(f"<w:moveTo>{run('Fees.')}</w:moveTo>"),
    )
    assert found.text == "Term.\nFees."


def test_docx_deleted_paragraph_mark_joins_the_paragraphs():
    found = read(
        paragraph(run("The Customer "), "<w:rPr><w:del/></w:rPr>"), paragraph(run("pays."))
    )
    assert found.text == "The Customer pays."


@pytest.mark.parametrize(("value", "shown"), [("", ""), (' w:val="0"', "secret")])
def test_docx_hidden_text_is_left_out_unless_its_property_is_off(value, shown):
    found = read(paragraph(run("Fees ") + run("secret", f"<w:vanish{value}/>")))
    assert found.text == f"Fees {shown}".strip()
    assert ("hidden_left_out" in dict(found.remarks)) == (not shown)


def test_docx_shape_is_read_once():
    box = f"<w:txbxContent>{paragraph(run('in a box'))}</w:txbxContent>"
    shape = (
        '<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    assert read(paragraph(run("Fees") + shape)).text == "Fees\nin a box"


def test_docx_field_shows_its_result_and_content_control_its_text():
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF x</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run("4.2")}'
    )
    control = f"<w:sdt><w:sdtContent>{run(' (Fees)')}</w:sdtContent></w:sdt>"
    assert read(paragraph(run("Section ") + field + control)).text == "Section 4.2 (Fees)"


def test_docx_table_is_one_block_with_each_merged_cell_once():
    def cell(words, properties=""):
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(run(words))}</w:tc>"

    found = read(
        "<w:tbl><w:tr>" + cell("Fee", '<w:vMerge w:val="restart"/>') + cell("10")
        + "</w:tr><w:tr>" + cell("Fee", "<w:vMerge/>") + cell("20") + "</w:tr></w:tbl>"
    )  # fmt: skip
    assert [(block.kind, block.text) for block in found.blocks] == [(Kind.TABLE, "Fee\t10\n\t20")]


def test_docx_note_stays_with_its_clause_and_macros_and_comments_are_remarked():
    notes = (
        '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f'<w:footnote w:id="2">{paragraph(run("Plus tax."))}</w:footnote></w:footnotes>'
    )
    comments = notes.replace("footnote", "comment")
    found = read(
        paragraph(run("Fees") + '<w:r><w:footnoteReference w:id="2"/></w:r>'),
        **{
            "word__footnotes.xml": notes, "word__comments.xml": comments,
            "word__vbaProject.bin": b"x",
        },
    )  # fmt: skip
    assert found.text == "Fees[2]\n[2] Plus tax."
    assert dict(found.remarks) == {"comments_left_out": 1, "macros_ignored": 1}


def test_docx_in_the_strict_dialect():
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    body = f'<w:p xmlns:w="{strict}"><w:r><w:t>Fees</w:t></w:r></w:p>'
    assert read(body).text == "Fees"


def test_shared_tables_are_read_as_tables():
    data = (FOLDER / "bonterms-cloud-terms" / "playbook-tables.docx").read_bytes()
    found = extract(data, "playbook-tables.docx")
    tables = [block for block in found.blocks if block.kind is Kind.TABLE]
    assert [len(table.text.splitlines()) for table in tables] == [13, 8, 7]
    assert "“(b) will not submit Sensitive Data to the Cloud Service, and”" in found.text


def test_pdf_running_heads_and_page_numbers_are_left_out():
    def page(number, *lines):
        head = "BT /F1 9 Tf 72 770 Td (Master Agreement) Tj ET "
        head += f"BT /F1 9 Tf 300 30 Td (Page {number}) Tj ET "
        return head.encode() + text(*lines)

    found = extract(
        pdf(page(1, "1. Fees", "The Customer pays the"), page(2, "Provider.", "2. Term")), "a.pdf"
    )
    assert [block.text for block in found.blocks] == [
        "1. Fees", "The Customer pays the Provider.", "2. Term",
    ]  # fmt: skip
    assert dict(found.remarks)["running_heads_left_out"] == 4


def test_pdf_broken_word_is_joined():
    found = extract(pdf(text("The Customer pays for the ser-", "vices in a non-compete clause.")))
    assert "non-compete" in found.text


def test_pdf_values_of_fields_are_read_and_remarked():
    writer = writer_of(text("1. Price. The price is as filled in below by the parties."))
    field = DictionaryObject(
        {
            NameObject("/Subtype"): NameObject("/Widget"),
            NameObject("/FT"): NameObject("/Tx"),
            NameObject("/T"): TextStringObject("price"),
            NameObject("/V"): TextStringObject("900 EUR"),
            NameObject("/Rect"): ArrayObject([FloatObject(one) for one in (72, 600, 200, 620)]),
        }
    )
    writer.pages[0][NameObject("/Annots")] = ArrayObject([writer._add_object(field)])
    found = extract(written(writer))
    assert found.blocks[-1].text == "[price: 900 EUR]"
    assert dict(found.remarks) == {"filled_in": 1}


def test_pdf_text_off_the_page_or_too_small_is_left_out():
    hidden = (
        b" BT /F1 11 Tf 72 2000 Td (Ignore the fees.) Tj ET BT /F1 1 Tf 72 90 Td (Tiny words) Tj ET"
    )
    found = extract(pdf(text("1. Fees. The Customer pays the fees.") + hidden))
    assert found.text == "1. Fees. The Customer pays the fees."
    assert dict(found.remarks)["hidden_left_out"] == 2


def test_pdf_page_without_text_is_remarked():
    found = extract(pdf(text("1. Fees. The Customer pays the fees."), b""))
    assert dict(found.remarks) == {"pages_without_text": 1}


RUSSIAN = "Стороны договорились о том, что Заказчик оплачивает услуги Исполнителя в срок. " * 3


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1251", "koi8-r"]
)
def test_encoding(encoding):
    assert decode(RUSSIAN.encode(encoding))[0].strip() == RUSSIAN.strip()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x85", "\u2028", "\x0b", "\x0c"])
def test_line_ends(end):
    assert decode(f"one{end}two".encode())[0] == "one\ntwo"


def test_markdown_leaves_out_front_matter_and_comments_and_keeps_a_rule():
    found = extract(b"---\ntitle: x\n---\n<!-- hidden -->\n# Fees\n\nPay 5\\. now.\n", "a.md")
    assert found.text == "Fees\nPay 5. now."
    assert extract(b"---\nFees are due.\n\nPay.\n", "a.md").text == "Fees are due.\nPay."


def test_html_shows_what_a_browser_shows():
    page = (
        "<!doctype html><title>x</title><nav>Menu</nav><h2>Fees</h2><p hidden>no</p>"
        "<p style='display:none'>no</p><ol start=3><li>three<li value=7>seven<li>eight</ol>"
        "<details><summary>More</summary><p>inside</p></details><script>no</script><p>open"
    )
    found = extract(page.encode(), "a.html")
    assert [f"{block.number}{block.text}" for block in found.blocks] == [
        "Fees", "3.three", "7.seven", "8.eight", "More", "inside", "open",
    ]  # fmt: skip


def test_name_decides_only_between_markdown_and_text():
    assert extract(b"<!doctype html><p>Fees</p>", "a.txt").type == "html"
    assert extract(docx(), "a.pdf").type == "docx"
    assert [extract(b"Fees", name).type for name in ("a.md", "a.txt", "a")] == [
        "markdown", "text", "text",
    ]  # fmt: skip
