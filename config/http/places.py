"""Places for what takes long: a bounded number in all, and for each network.

Beyond the bound the oldest gives way. An honest client needs its place for a moment, so a crowd
that keeps its places for as long as it may displaces itself and no other client.
"""

from collections import defaultdict
from collections.abc import Callable


class Place:
    """`lose` is called when the place goes to another; never after it was given back."""

    def __init__(self, network: str | None, lose: Callable[[], None]) -> None:
        self.network = network
        self.lose = lose


class Places:
    """For one event loop. `network` None: not known, so counted only in all."""

    def __init__(self, most: int, most_of_a_network: int) -> None:
        self._most = most
        self._most_of_a_network = most_of_a_network
        self._taken: dict[Place, None] = {}
        self._of_network: defaultdict[str, dict[Place, None]] = defaultdict(dict)

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, network: str | None, lose: Callable[[], None]) -> Place:
        place = Place(network, lose)
        self._taken[place] = None
        if network is not None:
            mine = self._of_network[network]
            mine[place] = None
            if len(mine) > self._most_of_a_network:
                self._pass_on(next(iter(mine)))
        if len(self._taken) > self._most:
            self._pass_on(next(iter(self._taken)))
        return place

    def give_back(self, place: Place) -> None:
        """Safe to call for a place that was lost."""
        self._taken.pop(place, None)
        if place.network is not None and place.network in self._of_network:
            mine = self._of_network[place.network]
            mine.pop(place, None)
            if not mine:
                del self._of_network[place.network]

    def _pass_on(self, place: Place) -> None:
        self.give_back(place)
        place.lose()
