"""Plans: what is shown, what is hashed, what stays private."""

from typing import Any

import pytest
from pydantic import ValidationError

from toolgate import Plan, Precondition

BASE: dict[str, Any] = {"summary": "s"}


def test_the_payload_is_private() -> None:
    plan = Plan(summary="s", payload={"secret": 1})
    assert "payload" not in plan.model_dump()
    assert "secret" not in repr(plan)
    assert plan.payload == {"secret": 1}


def test_a_plan_is_frozen_and_closed() -> None:
    plan = Plan(summary="s")
    with pytest.raises(ValidationError, match="frozen"):
        plan.detail = "other"  # type: ignore[misc]  # what is tested
    with pytest.raises(ValidationError, match="Extra inputs"):
        Plan.model_validate({**BASE, "surprise": 1})


def test_access_is_one_of_three() -> None:
    assert Plan(summary="s").access == "write"
    with pytest.raises(ValidationError):
        Plan.model_validate({**BASE, "access": "admin"})


@pytest.mark.parametrize(
    "change",
    [
        {"summary": "t"},
        {"detail": "d"},
        {"access": "full"},
        {"resources": ("a",)},
        {"preconditions": (Precondition(resource="a", state="x"),)},
        {"commands": (("rm", "x"),)},
        {"harmless": (("cd",),)},
        {"plain": True},
        {"asks": True},
        {"reason": "r"},
    ],
)
def test_the_fingerprint_changes_with_everything_that_was_planned(change: dict[str, Any]) -> None:
    assert Plan(**BASE).fingerprint("t", {}) != Plan(**{**BASE, **change}).fingerprint("t", {})


def test_the_fingerprint_changes_with_the_tool_and_the_arguments() -> None:
    plan = Plan(**BASE)
    prints = {
        plan.fingerprint(*call)
        for call in (("t", {}), ("u", {}), ("t", {"a": 1}), ("t", {"a": "1"}), ("t", {"a": True}))
    }
    assert len(prints) == 5


def test_the_fingerprint_is_stable() -> None:
    assert Plan(**BASE).fingerprint("t", {"a": 1, "b": [2]}) == Plan(**BASE).fingerprint("t", {"b": [2], "a": 1})


def test_words_cannot_be_joined_into_others() -> None:
    one = Plan(summary="s", commands=(("a", "b"),))
    two = Plan(summary="s", commands=(("a b",),))
    assert one.fingerprint("t", {}) != two.fingerprint("t", {})
