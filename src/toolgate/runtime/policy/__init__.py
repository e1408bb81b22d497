"""Policy: rules that allow, ask about or deny a call, in layers of which the strictest wins."""

from toolgate.runtime.policy.decide import Policy, Verdict
from toolgate.runtime.policy.load import parse_policy
from toolgate.runtime.policy.rules import Layer, Rule

__all__ = ["Layer", "Policy", "Rule", "Verdict", "parse_policy"]
