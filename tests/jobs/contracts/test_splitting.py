"""How clauses are distinguished from references, lists, dates and contents, in four scripts."""

import pytest

from jobs.contracts.reading.extraction import extract
from jobs.contracts.reading.numbering import Candidate, longest_sequence, parse_number
from jobs.contracts.reading.splitting import split

BODY = "The Customer pays the Provider for the services that this agreement describes in full. "


def clauses(text, name="a.txt"):
    return split(extract(text.encode(), name).blocks)


def numbers(text, name="a.txt"):
    return [clause.number for clause in clauses(text, name) if clause.number]


@pytest.mark.parametrize(
    "text",
    [
        "12 May 2024", "5 days after notice", "3,000 euros", "2 de mayo de 2024",
        "25 февраля 2025 г.",
        "10 Downing Street", "2016/679 of the Parliament", "Section 4.2 applies to the fees.",
        "11.2 of this DPA, to the extent required", "Clause 5 in its entirety.", "0.5 per cent",
        "Статья 10 настоящего договора", "Article 49(1)(b) of the GDPR is a ground.",
    ],
)  # fmt: skip
def test_number_that_opens_no_clause(text):
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1. Payment", (1,)), ("1.1 Fees", (1, 1)), ("1.1. Fees", (1, 1)), ("§ 3. Fees", (3,)),
        ("Article IV. Fees", (4,)), ("Section 4.2. Fees", (4, 2)), ("Clause 7", (7,)),
        ("Cláusula primera.- Objeto", (1,)), ("Artículo 12. Plazo", (12,)),
        ("Статья 5. Срок", (5,)),
        ("Пункт 2.3. Срок", (2, 3)), ("المادة 3: الدفع", (3,)), ("المادة الأولى: التعريفات", (1,)),
        ("IV. Fees", (4,)), ("B. Fees", (2,)), ("٢. الدفع", (2,)),
    ],
)  # fmt: skip
def test_number_that_may_open_a_clause(text, key):
    number = parse_number(text)
    assert number is not None
    assert number.key == key


def test_sequence_leaves_out_what_does_not_continue_it():
    keys = [(1,), (2,), (3,), (1,), (1, 1), (1, 2), (2,), (2, 1), (7,), (2, 2), (3,), (4,), (5,)]
    run = longest_sequence([Candidate(at, key, 1.0) for at, key in enumerate(keys)])
    assert [one.key for one in run] == [
        (1,), (1, 1), (1, 2), (2,), (2, 1), (2, 2), (3,), (4,), (5,),
    ]  # fmt: skip


def test_list_inside_a_clause_is_no_sequence_of_clauses():
    text = f"1. Fees\n\n{BODY}\n\n1. {BODY}\n\n2. {BODY}\n\n2. Term\n\n{BODY}\n\n3. Law\n\n{BODY}"
    assert numbers(text) == ["1", "2", "3"]


def test_table_of_contents_does_not_double_the_clauses():
    contents = "Contents\n\n1. Fees ........ 2\n\n2. Term ........ 3\n\n3. Law ......... 4\n\n"
    assert numbers(contents + f"1. Fees\n\n{BODY}\n\n2. Term\n\n{BODY}\n\n3. Law\n\n{BODY}") == [
        "1", "2", "3",
    ]  # fmt: skip


def test_numbers_of_a_schedule_start_again_in_their_own_part():
    text = f"1. Fees\n\n{BODY}\n\n2. Term\n\n{BODY}\n\n"
    text += f"SCHEDULE 1\n\n1. Data\n\n{BODY}\n\n2. Use\n\n{BODY}"
    found = [(clause.part, clause.number) for clause in clauses(text) if clause.number]
    assert found == [("body", "1"), ("body", "2"), ("schedule", "1"), ("schedule", "2")]


def test_text_without_numbers_or_headings_is_one_block():
    (clause,) = clauses(BODY * 4)
    assert (clause.number, clause.part, clause.kind) == ("", "body", "clause")


@pytest.mark.parametrize("quotes", ["“{}”", '"{}"', "«{}»", "„{}“", "‘{}’"])
def test_definition_is_found_in_every_style_of_quotes(quotes):
    text = (
        f"1. Definitions\n\n{quotes.format('Customer’s Data')} means all data.\n\n2. Fees\n\n{BODY}"
    )
    definition = clauses(text)[1]
    assert (definition.kind, definition.title) == ("definition", "Customer’s Data")


SPANISH = """CONTRATO DE SERVICIOS

PRIMERA.- Objeto

Cláusula primera.- Objeto. El Proveedor prestará los servicios al Cliente.

Cláusula segunda.- Precio. El Cliente pagará según la Cláusula primera en 30 días.

Cláusula tercera.- Duración. El contrato dura un año desde el 2 de mayo de 2024.

ANEXO I

1. Servicios. Se describen los servicios.
"""

RUSSIAN = """ДОГОВОР ОКАЗАНИЯ УСЛУГ

1. Предмет договора

1.1. Исполнитель обязуется оказать услуги, указанные в пункте 2.1 договора.

1.2. Срок оказания услуг до 25 февраля 2025 г.

2. Цена

2.1. Заказчик оплачивает услуги в течение 10 дней.

3. Ответственность

3.1. Стороны несут ответственность по статье 15 закона.

Приложение № 1

1. Перечень услуг
"""

# Written for this test after the usual form of a service contract; in the public domain (CC0).
ARABIC = """عقد تقديم خدمات

المادة الأولى: التعريفات

يقصد بكلمة العميل الشخص الذي يطلب الخدمات بموجب هذا العقد.

المادة الثانية: التزامات المورد

يلتزم المورد بتقديم الخدمات وفقا لأحكام المادة الأولى من هذا العقد.

المادة الثالثة: المقابل المالي

يدفع العميل المقابل خلال ٣٠ يوما من تاريخ الفاتورة.

المادة الرابعة: القانون الواجب التطبيق

يخضع هذا العقد لقانون جمهورية مصر العربية.

ملحق 1

وصف الخدمات
"""


def test_spanish_clauses_by_ordinals():
    found = [clause for clause in clauses(SPANISH) if clause.part == "body"]
    assert [(one.number, one.title) for one in found if one.number] == [
        ("1", "Objeto"), ("2", "Precio"), ("3", "Duración"),
    ]  # fmt: skip
    assert any(one.part == "schedule" for one in clauses(SPANISH))


def test_russian_clauses():
    found = [clause for clause in clauses(RUSSIAN) if clause.part == "body"]
    assert [one.number for one in found] == ["1", "1.1", "1.2", "2", "2.1", "3", "3.1"]
    assert [one.kind for one in found if one.number in "123"] == ["heading"] * 3


def test_arabic_clauses_by_their_headings():
    found = clauses(ARABIC)
    body = [(one.number, one.title) for one in found if one.part == "body"]
    assert body == [
        ("1", "التعريفات"), ("2", "التزامات المورد"), ("3", "المقابل المالي"),
        ("4", "القانون الواجب التطبيق"),
    ]  # fmt: skip
    assert {one.language for one in found} == {"ar"}
    assert found[-1].part == "schedule"


def squeezed(text):
    return "".join(character for character in text if character.isalnum())


@pytest.mark.parametrize("text", [SPANISH, RUSSIAN, ARABIC])
def test_nothing_between_clauses_is_lost(text):
    shown = "".join(f"{one.number}{one.title}{one.text}" for one in clauses(text))
    for line in text.splitlines():
        words = line.rpartition(":")[2].rpartition(".-")[2] or line
        assert squeezed(words)[-20:] in squeezed(shown)


def test_articles_with_sections_and_an_exhibit():
    text = (
        f"SUPPLY\n\n{BODY}\n\nARTICLE I\nGOODS\n\nSection 1.01 Goods. {BODY}\n\n"
        f"Section 1.02 Price. {BODY}\n\nARTICLE II\nTERM\n\nSection 2.01 Term. {BODY}\n\n"
        f"EXHIBIT A\n\n{BODY}"
    )
    found = [(one.part, one.number, one.title) for one in clauses(text)]
    assert found[1:] == [
        ("body", "1", "GOODS"), ("body", "1.01", "Goods"), ("body", "1.02", "Price"),
        ("body", "2", "TERM"), ("body", "2.01", "Term"), ("schedule", "", "EXHIBIT A"),
    ]  # fmt: skip


def test_headings_in_capitals_without_numbers():
    text = f"LEASE\n\nPARTIES\n\n{BODY}\n\nRENT\n\n{BODY}\n\nDEPOSIT\n\n{BODY}"
    assert [one.title for one in clauses(text)] == ["LEASE", "PARTIES", "RENT", "DEPOSIT"]


def test_title_on_a_line_above_its_text():
    found = clauses(f"1) Fees\n{BODY}\n2) Term\n{BODY}\n3) Law\n{BODY}\n")
    assert [(one.number, one.title) for one in found] == [
        ("1", "Fees"),
        ("2", "Term"),
        ("3", "Law"),
    ]


def test_title_in_the_paragraph_below_its_number():
    text = f"ARTICLE I\n\nGOODS\n\n{BODY}\n\nARTICLE II\n\nTERM\n\n{BODY}"
    assert [f"{one.number} {one.title}" for one in clauses(text)] == ["1 GOODS", "2 TERM"]
