"""What counts as a change, which clauses are paired, and redlines that lose nothing."""

import random
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.contracts.comparing.comparison import Change, compare
from jobs.contracts.comparing.redline import Step, redline
from jobs.contracts.reading.clauses import Clause, ClauseKind, Part

WORDS = "party fee term notice data service order claim right law cost loss risk audit key".split()  # noqa: SIM905


def clause(position, text, number="", title="", parent="", kind=ClauseKind.CLAUSE, part=Part.BODY):
    return Clause(position, part, kind, number, title, parent, text, text, "en", None)


def listed(*texts):
    return [clause(place, text, str(place)) for place, text in enumerate(texts, start=1)]


def changes(earlier, later):
    return [one.change for one in compare(earlier, later).clauses]


A = "The Customer pays the fees within thirty days after the invoice date."
B = "Either party may terminate this agreement with a notice of ninety days."
C = "The Provider keeps all rights in the software and its documentation."


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("a  fee\nof 5", "a fee of 5"), ("“fee”", '"fee"'), ("it’s", "it's"), ("a – b", "a — b"),
        ("a\u00a0fee", "a fee"), ("**fee** is due", "fee is due"), ("• fee", "- fee"),
        ("ser\u00advice", "service"), ("ﬁnal", "final"), ("1. fee\n2. term", "1. fee\n1. term"),
        ("\ufefffee", "fee"), ("«fee»", '"fee"'),
    ],
)  # fmt: skip
def test_no_change(earlier, later):
    assert changes(listed(earlier), listed(later)) == [Change.UNCHANGED]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("a fee of 1.5", "a fee of 15"), ("10² units", "102 units"), ("shall not pay", "shall pay"),
        ("the Party pays", "the party pays"), ("pay, if due", "pay if due"),
        ("Section 12", "Section 10"),
        ("раyment is due", "payment is due"), ("30 days", "31 days"), ("fee-free", "fee free"),
        ("five (5)", "five (6)"), ("(b) and", "(b), and"), ("a_b", "ab"), ("1,000", "1.000"),
    ],
)  # fmt: skip
def test_smallest_change_is_shown(earlier, later):
    whole = "The Customer agrees to what follows in this clause: {}"
    earlier, later = whole.format(earlier), whole.format(later)
    assert changes(listed(earlier), listed(later)) == [Change.CHANGED]
    assert any(span.step is not Step.EQUAL for span in redline(earlier, later))


def test_renumbered_moved_added_and_removed():
    earlier = listed(A, B, C)
    assert changes(earlier, [clause(1, A, "2")]) == [Change.RENUMBERED]
    moved = changes(earlier, listed(C, A, B))
    assert moved == [Change.MOVED, Change.RENUMBERED, Change.RENUMBERED]
    result = compare(listed(A), listed(B))
    assert [one.change for one in result.clauses] == [Change.ADDED]
    assert [one.text for one in result.removed] == [A]


def test_swap_of_two_similar_clauses_is_no_double_rewrite():
    one, two = f"{A} This covers the Support.", f"{A} This covers the Software."
    assert Change.CHANGED not in changes(listed(one, two), listed(two, one))


def test_heading_above_decides_between_equal_texts():
    def version(*parents):
        return [clause(place, A, "", "Rules", parent) for place, parent in enumerate(parents)]

    result = compare(version("VPN", "Relay"), version("Relay"))
    assert result.clauses[0].earlier.parent == "Relay"
    assert [one.parent for one in result.removed] == ["VPN"]


def test_split_and_merge_are_shown():
    split = compare(listed(f"{A} {B}"), listed(A, B))
    assert [one.split_from is not None for one in split.clauses] == [False, True]
    merged = compare(listed(A, B), listed(f"{A} {B}"))
    assert [one.text for one in merged.clauses[0].merged_from] == [B]


def test_clause_that_rests_on_a_changed_one_is_marked():
    def version(fee, days):
        return [
            clause(1, f"“Fee” means {fee}.", "1", "Fee", kind=ClauseKind.DEFINITION),
            clause(2, f"The invoice is due after {days} days.", "2"),
            clause(3, "The Customer pays the Fee.", "3"),
            clause(4, "Section 2 (Invoices) applies to refunds.", "4"),
            clause(5, "The Provider keeps the software.", "5"),
        ]

    result = compare(version("a price", 30), version("a monthly price", 60))
    marked = [one.clause.number for one in result.clauses if one.context_changed]
    assert marked == ["3", "4"]


def test_counts_of_unchanged_include_renumbered_and_moved():
    counts = compare(listed(A, B, C), listed(C, A, B)).counts
    assert counts == {
        "total": 3, "unchanged": 3, "renumbered": 3, "moved": 1, "changed": 0, "added": 0,
        "removed": 0,
    }  # fmt: skip


texts = st.lists(st.sampled_from([*WORDS, "30", "1.5", "(a)", ".", "\n", "“Fee”"]), max_size=40)


@given(texts, texts)
def test_redline_gives_back_both_texts(before, after):
    earlier, later = " ".join(before), " ".join(after)
    spans = redline(earlier, later)
    assert "".join(one.text for one in spans if one.step is not Step.INSERTED) == earlier
    assert "".join(one.text for one in spans if one.step is not Step.DELETED) == later
    assert all(one.text for one in spans)


@given(texts, texts)
def test_redline_is_the_same_both_ways(before, after):
    earlier, later = " ".join(before), " ".join(after)

    def size(spans, step):
        return sum(len(one.text) for one in spans if one.step is step)

    there, back = redline(earlier, later), redline(later, earlier)
    assert size(there, Step.DELETED) == size(back, Step.INSERTED)


def test_redline_keeps_words_and_numbers_whole():
    spans = redline("within thirty (30) days", "within ninety (90) days")
    assert [one.text for one in spans if one.step is Step.DELETED] == ["thirty", "30"]


def long_version(seed, edited):
    order, edits = random.Random(seed), random.Random(edited)
    found = []
    for place in range(1, 2001):
        words = order.choices([f"{word}{n}" for word in WORDS for n in range(30)], k=70)
        if edited:
            words[edits.randrange(70)] = "edited"
        found.append(clause(place, " ".join(words), str(place)))
    return found


def test_two_thousand_clauses_are_aligned_in_time_and_memory():
    earlier, later = long_version(1, 0), long_version(1, 2)
    started = time.perf_counter()
    result = compare(earlier, later)
    assert time.perf_counter() - started < 20
    assert result.counts["changed"] == 2000
    tracemalloc.start()
    compare(earlier[:250], later[:250])
    assert tracemalloc.get_traced_memory()[1] * 8 < 500 * 2**20
    tracemalloc.stop()
