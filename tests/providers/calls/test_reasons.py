"""The two vocabularies of a call: each rule is one that some code gives, each column knows them."""

import pytest

from providers.calls.models import Call, Gate
from providers.outcomes import Cause, NoAnswer
from providers.reasons import Reason, Rule
from providers.wire.classify import REASON_OF_STATUS, TABLE

COLUMNS = {
    Call._meta.get_field("why"): Reason,
    Gate._meta.get_field("why"): Reason,
    Call._meta.get_field("rule"): Rule,
    Call._meta.get_field("after_rule"): Rule,
}


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_a_column_has_the_choices_of_its_vocabulary(column):
    assert column.choices == COLUMNS[column].choices
    assert max(map(len, COLUMNS[column].values)) <= column.max_length


def test_staff_see_the_value_that_the_documentation_lists():
    assert all(label == value for each in (Reason, Rule) for value, label in each.choices)


def test_the_table_of_submits_names_each_rule_once():
    rules = [row.rule for row in TABLE]
    assert len(set(rules)) == len(rules)
    assert all(isinstance(rule, Rule) for rule in rules)
    assert all(isinstance(reason, Reason) for reason in REASON_OF_STATUS.values())


def test_a_reason_is_stored_as_its_value():
    why = NoAnswer(Cause(Reason.RATE, rule=Rule.OTHER_RUN)).why
    assert (f"{why.kind}", f"{why.rule}") == ("rate", "other_run")
