"""Join a style sheet, or an ES module, with all that it imports, so that a page loads one file instead of many.

In the sources these are files that browsers can load as they are. Only our own way of writing imports and exports is
understood.
"""

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath

CSS_IMPORT = re.compile(r'^@import url\("([^":]+)"\);\n', re.M)
JS_IMPORT = re.compile(r'^import (?:(\{[^}]*\}) from )?"(\.[^"]+)";\n', re.M)
JS_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)
JS_EXPORT_FROM = re.compile(r'^export \{ ([\w, ]+) \} from "(\.[^"]+)";\n', re.M)
JS_OTHER = re.compile(r"^(?:import|export)\b.*", re.M)

Read = Callable[[str], str]


class BundleError(ValueError):
    """A file can't be joined with what it imports."""


def bundled_css(name: str, read: Read) -> str:
    """Return the style sheet ``name`` with the imported ones in place of its imports.

    ``read`` returns the text of a file. The files have to be in one folder, where relative addresses stay right.
    """
    return CSS_IMPORT.sub(lambda match: read(join(dirname(name), match[1])), read(name))


def bundled_js(name: str, read: Read) -> str:
    """Return a script that runs the module ``name`` after the modules that it imports, each once and in a scope of
    its own. ``read`` returns the text of a module. Raise BundleError.
    """
    scopes: dict[str, str] = {}
    return "".join(_module_scopes(name, read, scopes, ()))


def _module_scopes(name: str, read: Read, scopes: dict[str, str], importers: tuple[str, ...]) -> Iterator[str]:
    """Yield the code of a module, after that of its imports. ``scopes`` has the variables of those already yielded."""
    if name in importers:
        raise BundleError(f"{name} imports itself by way of {importers[-1]}.")
    source = read(name)
    for _, path in JS_IMPORT.findall(source) + JS_EXPORT_FROM.findall(source):
        imported = _resolved(name, path)
        if imported not in scopes:
            yield from _module_scopes(imported, read, scopes, (*importers, name))

    def constants(match: re.Match[str]) -> str:
        names, path = match.groups()
        return f"const {names.replace(' as ', ': ')} = {scopes[_resolved(name, path)]};\n" if names else ""

    exports = JS_EXPORT.findall(source)
    for names, path in JS_EXPORT_FROM.findall(source):
        scope = scopes[_resolved(name, path)]
        exports += [f"{exported}: {scope}.{exported}" for exported in names.split(", ")]
    code = JS_EXPORT.sub("", JS_EXPORT_FROM.sub("", JS_IMPORT.sub(constants, source)))
    if unknown := JS_OTHER.search(code):
        raise BundleError(f"{name}: this form can't be bundled: {unknown[0]}")
    scopes[name] = f"module{len(scopes)}"
    yield f"const {scopes[name]} = (() => {{\n{code}return {{ {', '.join(exports)} }};\n}})();\n"


def _resolved(importer: str, path: str) -> str:
    return normpath(join(dirname(importer), path))
