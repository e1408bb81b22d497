"""Policy: rules that allow, ask about or deny a call, in layers of which the strictest wins.

Lives here: the kinds of rules, loading them, deciding, and the rules that a person is offered to remember.
May touch: nothing. Policy files come as text from `runtime/policy_source.py`.
Start reading: `decide.py` (`Policy`), then `kinds.py`.
"""

from toolgate.runtime.policy.decide import Policy
from toolgate.runtime.policy.load import parse_policy
from toolgate.runtime.policy.rules import Layer, Rule
from toolgate.runtime.policy.verdict import Verdict

__all__ = ["Layer", "Policy", "Rule", "Verdict", "parse_policy"]
