"""Planted defects, to see that the drill would find them."""

VARIABLE = "COUNTERFOIL_DRILL_MUTANT"


def install() -> None:
    pass


def plant() -> bool:
    return True
