"""Baskets."""

import unittest

from shop.basket import Basket


class BasketTest(unittest.TestCase):
    """What a basket costs."""

    def test_pieces_are_added_up(self) -> None:
        """Two kinds."""
        basket = Basket()
        basket.add("apple", 2)
        basket.add("plum")
        self.assertEqual(basket.total(), 105)

    def test_what_the_shop_does_not_sell_is_refused(self) -> None:
        """A car."""
        with self.assertRaises(KeyError):
            Basket().add("car")
