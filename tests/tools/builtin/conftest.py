"""Shell sessions in every layer, as every user."""

from tests.support.shells import layer, shells

__all__ = ["layer", "shells"]
