"""What is learnt about a model's context, and for how long."""

from toolgate.agent.context_limits import ContextLimits
from toolgate.errors import ModelError
from toolgate.testing import FakeClock, ScriptedModel


def refusal(limit: int | None = None, used: int | None = None) -> ModelError:
    error = ModelError("MODEL_CONTEXT", "too long")
    error.limit, error.used = limit, used
    return error


def test_a_stated_limit_is_kept_below_in_our_own_tokens() -> None:
    limits, model = ContextLimits(100_000), ScriptedModel([])
    assert limits.refused(model, 10_000, refusal(limit=4_000, used=20_000))
    assert limits.of(model) == int(4_000 * 0.5 * 0.85)
    limits.accepted(model, limits.of(model))
    assert limits.of(model) == 1_700  # the provider has said it: it does not grow


def test_without_a_number_it_shrinks_by_guesses_and_grows_again() -> None:
    limits, model = ContextLimits(100_000), ScriptedModel([])
    assert limits.refused(model, 50_000, refusal())
    assert limits.of(model) == 35_000
    for _ in range(20):
        limits.accepted(model, limits.of(model))
    assert limits.of(model) == 100_000


def test_another_model_is_not_concerned_and_an_hour_later_nobody_is() -> None:
    clock = FakeClock()
    limits, model, other = ContextLimits(100_000, clock.monotonic), ScriptedModel([]), ScriptedModel([])
    other.name = "other"
    limits.refused(model, 50_000, refusal(limit=8_000))
    assert (limits.of(model), limits.of(other)) == (6_800, 100_000)
    clock.advance(3601)
    assert limits.of(model) == 100_000


def test_below_a_few_hundred_tokens_nothing_helps() -> None:
    assert not ContextLimits(100_000).refused(ScriptedModel([]), 600, refusal())


def test_what_the_server_says_beforehand_counts() -> None:
    model = ScriptedModel([])
    model.context_tokens = 10_000  # type: ignore[attr-defined]
    assert ContextLimits(100_000).of(model) == 8_500
