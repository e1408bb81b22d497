"""Policy: rules that allow, ask about or deny a call, in layers of which the strictest wins."""

from toolgate.runtime.policy.decide import Policy
from toolgate.runtime.policy.load import parse_policy
from toolgate.runtime.policy.rules import Layer, Rule
from toolgate.runtime.policy.verdict import Verdict

__all__ = ["Layer", "Policy", "Rule", "Verdict", "parse_policy"]
