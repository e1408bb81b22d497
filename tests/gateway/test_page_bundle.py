"""Modules joined into one script: the same names, in the same order, in scopes of their own."""

import pytest

from toolgate.gateway.assets import STATIC
from toolgate.gateway.page_bundle import NotBundled, bundle

MODULES = {
    "main": """import * as words from "./words.js";
import { greet, Person as Somebody } from "./greet.js";
import "./effect.js";
const name = "main";
import("./later.js").then(({ later }) => {
  globalThis.said = [name, words.name, greet(new Somebody()), later(), globalThis.effect];
});
""",
    "words": """export const name = "words";
export async function unused() {}
""",
    "greet": """import { name } from "./words.js";
const hidden = "Ada";
export class Person { name = hidden; }
export function greet(person) { return `${name}: ${person.name}`; }
""",
    "effect": """const hidden = "effect";
globalThis.effect = hidden;
""",
    "later": """import { name } from "./words.js";
import { other } from "./other.js";
export function later() { return `later ${name} ${other}`; }
""",
    "other": """export const other = "other";
""",
}


def test_what_is_imported_comes_first_and_the_rest_is_loaded_later() -> None:
    made = bundle(MODULES, "main")
    assert set(made) == {"main", "later", "other"}
    places = [made["main"].index(f"// {name}.js\n") for name in ("words", "greet", "effect", "main")]
    assert places == sorted(places)
    assert made["later"].startswith(
        'import { $words } from "./main.js"; const { name } = $words;\nimport { other } from'
    )


def test_a_module_that_many_import_runs_once() -> None:
    assert bundle(MODULES, "main")["main"].count("// words.js\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        "export default 1;",
        "export let a = 1;",
        "export { a };",
        'import a from "./a.js";',
        'import x from "elsewhere";',
    ],
)
def test_a_form_that_is_not_joined_is_named(line: str) -> None:
    with pytest.raises(NotBundled, match=r"main\.js: "):
        bundle({"main": f"{line}\n"}, "main")


def test_modules_that_import_each_other_are_named() -> None:
    with pytest.raises(NotBundled, match="main > a > main"):
        bundle({"main": 'import "./a.js";\n', "a": 'import "./main.js";\n'}, "main")


def test_all_modules_of_the_page_can_be_joined() -> None:
    modules = {path.stem: path.read_text() for path in STATIC.glob("*.js")}
    assert bundle(modules, "main")["main"].endswith("$main };\n")
