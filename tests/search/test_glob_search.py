"""Both search engines find the same files, in the same order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.search.kit import agree, few, paths, trees
from toolgate.tools.builtin.glob import GlobTool

globbings = st.fixed_dictionaries(
    {
        "pattern": st.sampled_from(
            "** **/*.py src/** **/a/** a/**/b* **/[ab] {a,src}/** **/*.{py,txt} **/.* **/é* *.py */* build/**/*".split()
        ),
        "limit": st.sampled_from([1, 3, 1000]),
    },
    optional={"path": paths, "include_ignored": st.booleans()},
)


@few
@given(tree=trees, some=st.lists(globbings, min_size=1, max_size=3))
def test_the_engines_find_the_same_files(tree: dict[str, Any], some: list[dict[str, Any]]) -> None:
    agree(tree, GlobTool(), some)
