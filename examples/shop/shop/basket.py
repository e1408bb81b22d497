"""A basket: what somebody wants to buy, and what it costs."""

from shop.prices import discounted, price_of


class Basket:
    """Pieces by name."""

    def __init__(self) -> None:
        self.pieces: dict[str, int] = {}

    def add(self, name: str, count: int = 1) -> None:
        """Add pieces of something that the shop sells."""
        price_of(name)
        self.pieces[name] = self.pieces.get(name, 0) + count

    def total(self) -> int:
        """Return what is to be paid, in cents."""
        return discounted(sum(price_of(name) * count for name, count in self.pieces.items()))
