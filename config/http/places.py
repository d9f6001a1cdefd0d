"""A limited number of places for slow clients, in total and per network.

When all are taken, the oldest one is evicted. An honest client needs its place only briefly, so a
crowd that holds its places as long as possible evicts itself and no other client.
"""

from collections import defaultdict
from collections.abc import Callable


class Place:
    """`lose` is called when the place is evicted, never after it was given back."""

    def __init__(self, network: str | None, lose: Callable[[], None]) -> None:
        self.network = network
        self.lose = lose


class Places:
    """For one event loop. An unknown network (None) counts in the total only."""

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
        """Safe to call for a place that was evicted."""
        self._taken.pop(place, None)
        if place.network is not None and place.network in self._of_network:
            mine = self._of_network[place.network]
            mine.pop(place, None)
            if not mine:
                del self._of_network[place.network]

    def _pass_on(self, place: Place) -> None:
        self.give_back(place)
        place.lose()
