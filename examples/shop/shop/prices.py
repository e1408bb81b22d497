"""Prices in cents, and the discount of large orders."""

PRICES = {"apple": 40, "pear": 55, "plum": 25}
DISCOUNT_FROM = 1000
DISCOUNT_PERCENT = 10


def price_of(name: str) -> int:
    """Return the price of one piece."""
    if name not in PRICES:
        raise KeyError(f"the shop does not sell {name!r}")
    return PRICES[name]


def discounted(total: int) -> int:
    """Return what is to be paid: orders of 10.00 or more get 10 percent off."""
    if total > DISCOUNT_FROM:
        return total - total * DISCOUNT_PERCENT // 100
    return total
