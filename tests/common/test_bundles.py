"""Style sheets and modules are joined with what they import."""

import pytest

from apps.common.pages.bundles import BundleError, bundled_css, bundled_js
from config.env import ROOT

SOURCES = {
    "css/all.css": '/* All. */\n@import url("one.css");\n@import url("two.css");\n',
    "css/one.css": "a { color: red; }\n",
    "css/two.css": "b { color: blue; }\n",
    "js/main.js": 'import { twice as double } from "./lib/numbers.js";\nimport "./side.js";\nconsole.log(double(2));\n',
    "js/side.js": 'import { twice } from "./lib/numbers.js";\nexport const six = twice(3);\n',
    "js/lib/numbers.js": "const two = 2;\nexport function twice(n) { return two * n; }\n",
    "js/public.js": 'export { twice } from "./lib/numbers.js";\nexport class Six {}\n',
    "js/a.js": 'import { b } from "./b.js";\nexport const a = 1;\n',
    "js/b.js": 'import { a } from "./a.js";\nexport const b = 2;\n',
    "js/default.js": "export default 3;\n",
}


def test_imported_style_sheets_are_put_in_their_places() -> None:
    joined = bundled_css("css/all.css", SOURCES.__getitem__)
    assert joined == "/* All. */\na { color: red; }\nb { color: blue; }\n"


def test_each_module_stands_once_and_after_what_it_imports() -> None:
    assert bundled_js("js/main.js", SOURCES.__getitem__) == (
        "const module0 = (() => {\nconst two = 2;\nfunction twice(n) { return two * n; }\nreturn { twice };\n})();\n"
        "const module1 = (() => {\nconst { twice } = module0;\nconst six = twice(3);\nreturn { six };\n})();\n"
        "const module2 = (() => {\nconst { twice: double } = module0;\nconsole.log(double(2));\nreturn {  };\n})();\n"
    )


def test_a_module_passes_on_what_another_exports() -> None:
    assert bundled_js("js/public.js", SOURCES.__getitem__).endswith("return { Six, twice: module0.twice };\n})();\n")


@pytest.mark.parametrize(
    ("name", "reason"), [("js/a.js", "js/a.js imports itself"), ("js/default.js", "export default")]
)
def test_what_cannot_be_joined_is_an_error(name: str, reason: str) -> None:
    with pytest.raises(BundleError, match=reason):
        bundled_js(name, SOURCES.__getitem__)


def test_nothing_is_left_to_import_by_the_pages() -> None:
    def read(name: str) -> str:
        return (ROOT / "static" / name).read_text()

    assert "\nimport " not in bundled_js("js/loci.js", read)
    assert "@import" not in bundled_css("css/site.css", read)
