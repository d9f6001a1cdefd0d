"""Words that tell what a block is: titles, defined terms, schedules, signatures, contents."""

import re

from jobs.contracts.reading.numbering import parse_number

SMALL = set(
    "a an and as at by for from in into of on or per the to vs with & - – "  # noqa: SIM905
    "de del la las el los y e o u en por para con al a un una "
    "и в во на с со о об от до по за из или к для не".split()
)
VERBS = re.compile(
    r"\b(?:is|are|was|were|be|has|have|shall|will|must|may|can|means?|agrees?|includes?|makes?|consists?|does|do|"
    r"es|son|será|serán|debe|deberá|podrá|significa|tiene|está|se|"
    r"является|обязан[аоы]?|обязуется|может|должен|означает|имеет|вправе)\b",
    re.IGNORECASE,
)
SENTENCE_END = re.compile(r"[.:](?=\s|$|[A-ZА-Я“\"«(])|\s[–—](?=\s)")
QUOTED = r"[“\"][^”“\"]{1,80}[”\"]|«[^»]{1,80}»|„[^“”]{1,80}[“”]|‘(?:[^’]|’(?=\w)){2,80}’(?!\w)"
# A mark of emphasis that has lost its partner may come first.
TERM = re.compile(
    rf"[*_]{{0,3}}(?:The\s+|El\s+|La\s+)?(?P<term>{QUOTED})[*_]{{0,3}}(?P<rest>.{{0,120}})",
    re.DOTALL,
)
DEFINES = re.compile(
    r"\b(?:means?|refers?\s+to|shall\s+mean|has\s+the\s+meaning|have\s+the\s+meaning|is\s+defined|"
    r"are\s+defined|is\s+the|includes?|significa|se\s+entiende|se\s+refiere|означает|понимается|имеет\s+значение)\b"
    r"|^\s*(?:\([^)]{0,60}\)\s*)?[–—:-]\s|يقصد|يعني",
    re.IGNORECASE,
)
SCHEDULE = re.compile(
    r"(?:list\s+of\s+schedules|(?:schedule|annex|annexe|exhibit|appendix|attachment|addendum|anexo|"
    r"ap[ée]ndice|adenda|приложение|дополнение|ملحق|נספח)\b)\s*(?:№\s*)?(?P<mark>[A-ZА-Я]\b|\d+|[IVX]+\b)?",
    re.IGNORECASE,
)
SIGNATURES = re.compile(
    r"(?:signatures?|signature\s+page|execution|in\s+witness\s+whereof|firmas?|en\s+prueba\s+de\s+conformidad|"
    r"подписи(?:\s+сторон)?|адреса,?\s+реквизиты.*|реквизиты.*|التوقيعات|توقيع.*)\W*",
    re.IGNORECASE,
)
CONTENTS = re.compile(
    r"(?:table\s+of\s+)?contents|[íi]ndice|contenido|оглавление|содержание|المحتويات", re.IGNORECASE
)
LEADERS = re.compile(r"(?:[.…·_]\s?){3,}\s*\d{1,4}\s*$|\t\d{1,4}$")


def title_length(text: str, lead: int = 0) -> int:
    """How many characters at the start are the title, its end mark included; 0 without one."""
    if text.isupper() and len(text) < 120:
        return len(text)
    end = SENTENCE_END.search(text)
    first = text[: end.start()] if end else text
    words = first.split()
    if not words or len(words) > 14 or TERM.match(first):
        return 0
    if end and re.fullmatch(r"\w|[\d.]+", first):
        return 0
    whole = end is None or end.end() >= len(text.rstrip())
    emphasised = 0 < lead < len(text) and lead >= len(first)
    if emphasised or is_title_case(words) or first.isupper():
        return end.end() if end else len(text)
    if len(words) > (10 if whole else 8) or VERBS.search(first) or first[:1].islower():
        return 0
    if whole and text.rstrip().endswith((".", ";", ",")) and len(words) > 5:
        return 0
    return end.end() if end else len(text)


def is_title_case(words: list[str]) -> bool:
    counted = [word.strip("(),;/&'’\"") for word in words]
    counted = [word for word in counted if word and word.lower() not in SMALL]
    return bool(counted) and all(word[:1].isupper() or word[:1].isdigit() for word in counted)


def looks_like_heading(text: str, lead: int) -> bool:
    if not 3 < len(text) < 100 or text.endswith((".", ";", ",")):
        return False
    return text.isupper() or lead >= len(text.rstrip(" :"))


def is_numbered_title(text: str) -> bool:
    number = parse_number(text)
    return (
        number is not None and 0 < title_length(text[number.length :]) == len(text) - number.length
    )


def clean_title(text: str) -> str:
    return text.strip().rstrip(".:–— ").strip()


def defined_term(text: str) -> str:
    """The term that this text defines, if it begins with one."""
    found = TERM.match(text)
    if not found or not DEFINES.search(found["rest"]):
        return ""
    return found["term"][1:-1].strip(" ,.")


def is_schedule(text: str) -> bool:
    """Whether this line is the heading of a schedule, not a sentence that names one."""
    found = SCHEDULE.match(text)
    if not found or len(text) > 120:
        return False
    rest = text[found.end() :].strip()
    if not rest:
        return True
    if rest[0] in ".:-–—(":
        return not rest.rstrip().endswith((".", ";")) or len(rest) < 60
    return rest[0].isupper() and (text.isupper() or is_title_case(rest.split()))


def is_signatures(text: str) -> bool:
    return len(text) < 80 and bool(SIGNATURES.fullmatch(text.strip()))


def is_contents_line(text: str) -> bool:
    return bool(LEADERS.search(text))
