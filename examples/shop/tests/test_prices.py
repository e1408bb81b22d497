"""Prices and discounts."""

import unittest

from shop.prices import discounted, price_of


class PricesTest(unittest.TestCase):
    """What things cost."""

    def test_a_pear_has_a_price(self) -> None:
        """One piece."""
        self.assertEqual(price_of("pear"), 55)

    def test_small_orders_get_no_discount(self) -> None:
        """Below the limit."""
        self.assertEqual(discounted(999), 999)

    def test_orders_of_ten_or_more_get_a_discount(self) -> None:
        """At the limit."""
        self.assertEqual(discounted(1000), 900)
