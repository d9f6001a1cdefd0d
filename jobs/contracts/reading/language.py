"""The language of a text by its script and its most frequent words: enough for four, else empty."""

import re
from collections import Counter

FREQUENT = {
    "en": set("the of and to in or any this by for with shall will agreement".split()),  # noqa: SIM905
    "es": set("de la que el en los del las por para con una sus servicio".split()),  # noqa: SIM905
    "fr": set("le les des du et une dans pour est sur au".split()),  # noqa: SIM905
    "de": set("der die und das ist nicht mit den von zu ein".split()),  # noqa: SIM905
}
SCRIPTS = {
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f]"),
}
RIGHT_TO_LEFT = {"ar", "he", "fa"}


def detect_language(text: str) -> str:
    sample = text[:50_000]
    scripts = {name: len(pattern.findall(sample)) for name, pattern in SCRIPTS.items()}
    script = max(scripts, key=lambda name: scripts[name])
    if not scripts[script]:
        return ""
    if script != "latin":
        return script
    words = Counter(re.findall(r"[a-záéíóúñüäöß]+", sample.lower()))
    counts = {language: sum(words[word] for word in own) for language, own in FREQUENT.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] * 25 > words.total() else ""
