"""SDKs whose parts come on demand: the same packages, for less."""

import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = "import sys; from toolgate.models.lazy_import import load\n"


def run(code: str, *, path: Path | None = None) -> str:
    """Run it in an interpreter that has loaded nothing yet; what it prints."""
    lead = "" if path is None else f"import sys; sys.path.insert(0, {str(path)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", lead + BEFORE + code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


COUNT = "print(sum(name.split('.')[0] == '{0}' for name in sys.modules))"


@pytest.mark.parametrize(
    ("sdk", "use"),
    [
        ("openai", "sdk.AsyncOpenAI(api_key='x').chat.completions.create"),
        ("anthropic", "sdk.AsyncAnthropic(api_key='x').messages.create"),
    ],
)
def test_an_sdk_comes_without_most_of_its_modules(sdk: str, use: str) -> None:
    plain = run(f"import {sdk} as sdk; {use}\n{COUNT.format(sdk)}")
    lean = run(f"sdk = load('{sdk}'); {use}\n{COUNT.format(sdk)}")
    assert int(lean) < int(plain) / 2


def test_it_is_the_same_package_for_everybody_else() -> None:
    """Imports of every form, in an order that meets waiting packages, give the objects of an ordinary import."""
    said = run(
        "sdk = load('openai'); sdk.AsyncOpenAI\n"
        "import openai, openai.types.chat\n"
        "from openai.types.responses import Response\n"
        "from openai.types.responses import *\n"
        "from openai import types, AzureOpenAI, NOT_GIVEN\n"
        "import openai.types.responses.response as module\n"
        "print(openai is sdk, module.Response is Response is types.responses.Response, ResponseUsage.__name__,\n"
        "      openai.__version__ == __import__('importlib.metadata').metadata.version('openai'),\n"
        "      hasattr(openai, 'nothing'), hasattr(openai.types, 'Nothing'), AzureOpenAI.__name__,\n"
        "      Response.model_validate.__name__)"
    )
    assert said == "True True ResponseUsage True False False AzureOpenAI model_validate"


def test_what_is_loaded_already_stays_as_it_is() -> None:
    assert run("import openai; print(load('openai') is openai, type(openai).__name__)") == "True module"


def test_what_is_not_installed_is_the_usual_error() -> None:
    said = run("try:\n    load('no_such_sdk')\nexcept ModuleNotFoundError as error:\n    print(error)")
    assert said == "No module named 'no_such_sdk'"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with everything that an `__init__` may do."""
    root = tmp_path / "pack"
    (root / "inner").mkdir(parents=True)
    (root / "__init__.py").write_text(
        "from .a import one as one, two as deux\n"
        "from . import b\n"
        "from os import sep\n"
        "setting = None\n"
        "shadowed = 'mine'\n"
        "from .a import shadowed\n"
        "three = 3\n"
        "from .a import three as _three\n"
        "def made(): return 'made'\n"
        "print('whole')\n"
    )
    (root / "a.py").write_text("print('a')\none = 1\ntwo = 2\nthree = 4\nshadowed = 'theirs'\n")
    (root / "b.py").write_text("print('b')\n")
    (root / "inner" / "__init__.py").write_text("from ..a import one\n__all__ = ['one']\n")
    return tmp_path


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("load('pack')", ""),
        ("print(load('pack').deux)", "a 2"),
        ("load('pack'); import pack.b", "b"),
        ("print(load('pack').b.__name__)", "b pack.b"),
        ("print(load('pack').shadowed)", "a theirs"),
        ("print(load('pack').three)", "a b whole 3"),
        ("print(load('pack').made())", "a b whole made"),
        ("print(load('pack').sep)", "a b whole /"),
        ("p = load('pack'); p.setting = 'set'; p.made; print(p.setting)", "a b whole set"),
        ("load('pack')\nfrom pack.inner import *\nprint(one)", "a 1"),
        ("load('pack')\nfrom pack import *\nprint(three)", "a b whole 3"),
        ("print(hasattr(load('pack'), 'nothing'))", "a b whole False"),
        ("print(hasattr(load('pack'), '__nothing__'))", "False"),
    ],
)
def test_names_come_from_where_the_package_takes_them(package: Path, code: str, said: str) -> None:
    assert run(code, path=package).split() == said.split()


def test_many_threads_load_it_once(package: Path) -> None:
    code = (
        "import threading\n"
        "seen = []\n"
        "def use(): p = load('pack'); seen.append((p.one, p.made()))\n"
        "threads = [threading.Thread(target=use) for _ in range(16)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "print(len(seen), set(seen))"
    )
    for _ in range(5):
        assert run(code, path=package).split()[-3:] == ["16", "{(1,", "'made')}"]
