"""Every case of `make compare`, small: the naive control fails it, and Toolgate does not."""

import pytest

from compare.__main__ import measure
from compare.case import Case, discover
from compare.contenders import CONTENDERS

CASES = {case.name: case for case in discover()}
CONTENDER = {one.module: one for one in CONTENDERS}
ABILITIES = ["read", "write", "edit", "run", "limit"]
FEW_MEGABYTES = 40
"""What Toolgate may take for 50 MB of output; the control takes all of it several times."""


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", [case for case in CASES.values() if case.control_fails], ids=lambda case: case.name)
def test_the_control_fails(case: Case) -> None:
    found = measure(case, CONTENDER["naive"], ABILITIES, quick=True, seconds=20)

    assert found["status"] == "measured", found
    assert found["bad"] >= case.control_least, found


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", list(CASES.values()), ids=lambda case: case.name)
def test_toolgate_does_not(case: Case) -> None:
    found = measure(case, CONTENDER["toolgate"], ABILITIES, quick=True, seconds=20)

    assert found["status"] == "measured", found
    assert found["bad"] <= (0 if found["of"] else FEW_MEGABYTES), found
