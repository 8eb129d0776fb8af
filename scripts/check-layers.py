#!/usr/bin/env python3
"""Checks the rules of the house that a compiler does not: who may include whom, and how long things may be.

usage: scripts/check-layers.py [ROOT]      exit code 1 and one line for each breach
"""

import re
import subprocess
import sys
from pathlib import Path

# DESIGN's table, top to bottom: a layer includes only itself and the layers before it.
LAYERS = ["core", "tensor", "io", "text", "nn", "models", "engine", "run", "eval", "recipes", "server", "cli"]

FILE_LINES = 500
FAMILY_FILE_LINES = 120  # src/models/families/: a model family fits on two screens
FUNCTION_LINES = 70

CODE = {".h", ".hpp", ".c", ".cpp", ".cc"}
SCRIPTS = {".py", ".sh", ".mjs", ".js", ".cmake"}

# Where ggml's headers may be included: one layer, its tests, and the oracle, which is a program of its own.
GGML_FOLDERS = ("src/tensor/", "tests/tensor/", "tests/oracle/")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
GGML_HEADER = re.compile(r"(^|/)ggml[^/]*\.h$|^gguf\.h$")


def layer_of(path):
    """The layer a path such as src/io/gguf.cpp belongs to; None for what stands outside the table."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "src" else None


def check_includes(path, text):
    """Breaches of the layer table in one file; path is relative to the root."""
    layer = layer_of(path)
    breaches = []
    if layer is not None and layer not in LAYERS:
        return [f"{path}: src/{layer}/ is no layer of DESIGN's table"]
    for match in INCLUDE.finditer(text):
        header = match.group(1)
        line = text.count("\n", 0, match.start()) + 1
        if GGML_HEADER.search(header) and not path.startswith(GGML_FOLDERS):
            breaches.append(f"{path}:{line}: includes {header}; ggml headers belong in src/tensor/ only")
        used = header.removeprefix("toy/").split("/")[0]
        if layer and used in LAYERS and LAYERS.index(used) > LAYERS.index(layer):
            breaches.append(f"{path}:{line}: {layer}/ includes {header}, but {used}/ lies below it in DESIGN's table")
    return breaches


# What must not be read as code: comments, raw strings, strings, characters, preprocessor lines. A digit before ' is a
# separator inside a number, not the start of a character.
NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<raw>[^()\\\s]{0,16})\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE,
)


def blank_noise(text):
    """The text with comments, literals and preprocessor lines replaced, line numbers kept."""

    def blank(match):
        found = match.group(0)
        stand_in = '""' if found[0] in "\"R'" else ""
        return stand_in + "\n" * found.count("\n")

    return NOISE.sub(blank, text)


TYPE = re.compile(r"^(template\b.*?>\s*)?(typedef\s+)?(class|struct|union|enum|namespace|extern|concept)\b", re.DOTALL)
CONTROL = re.compile(r"^(if|for|while|switch|do|else|try|catch|return)\b")
BEFORE_HEAD = re.compile(r"(\s|(public|private|protected)\s*:(?!:))*")
OPERATOR = re.compile(r"\boperator\s*([^\s\w(]+|\(\s*\))")


def opens_function(head):
    """Whether a `{` outside every function, after the text `head`, begins the body of one."""
    plain = OPERATOR.sub("operator_", head)
    while True:  # default arguments and conditions are no initialisers
        inner = re.sub(r"\([^()]*\)", " @ ", plain)
        if inner == plain:
            break
        plain = inner
    if "(" in plain or "@" not in plain or CONTROL.match(plain):
        return False
    if re.search(r"=[^=]*\]\s*(@|$)", plain) or re.search(r"=\s*\[", plain):
        return True  # a lambda given a name at namespace scope
    if "=" in re.sub(r"<[^<>]*>|noexcept\s*@", "", plain):
        return False
    type_head = TYPE.match(plain)
    return not type_head or re.search(r"\w\s*@", re.sub(r"\b(alignas|__attribute__)\s*@", "", plain)) is not None


def functions(text):
    """(first line, last line, name) of every outermost function body in clang-formatted C++."""
    code = blank_noise(text)
    found = []
    head_start = 0   # where the text since the last ; { or } outside functions begins
    stack = []       # open braces outside functions: "scope" or "value"
    depth = 0        # open braces inside the current function
    start = None
    for match in re.finditer(r"[{};]", code):
        at, mark = match.start(), match.group(0)
        if start is not None:
            depth += {"{": 1, "}": -1, ";": 0}[mark]
            if depth == 0:
                found.append(span(code, start, at))
                start, head_start = None, at + 1
            continue
        head = code[head_start:at].strip()
        if mark == "{":
            # name_{value} in a constructor's initialiser list, or a value in parentheses
            is_value = bool(stack and stack[-1] == "value") or bool(at and re.match(r"[\w>]", code[at - 1]) and ")" in head)
            if not is_value and opens_function(head):
                start, depth = head_start + BEFORE_HEAD.match(code[head_start:at]).end(), 1
                continue
            stack.append("value" if is_value else "scope")
            if not is_value:
                head_start = at + 1
        elif mark == "}" and stack:
            if stack.pop() == "scope":
                head_start = at + 1
        elif mark == ";":
            head_start = at + 1
    return found


def span(code, start, end):
    """Lines of a function and, for messages, what stands before its parameters."""
    first = code.count("\n", 0, start) + 1
    last = code.count("\n", 0, end) + 1
    name = re.sub(r"\s+", " ", code[start:].split("(")[0]).strip().split(" ")[-1].lstrip("*&")
    return first, last, name or "a function"


def check_budgets(path, text):
    """Breaches of the budgets in one file."""
    breaches = []
    lines = text.count("\n")
    limit = FAMILY_FILE_LINES if path.startswith("src/models/families/") else FILE_LINES
    if lines > limit:
        breaches.append(f"{path}: {lines} lines; at most {limit}")
    if Path(path).suffix in CODE:
        for first, last, name in functions(text):
            if last - first + 1 > FUNCTION_LINES:
                breaches.append(f"{path}:{first}: {name} has {last - first + 1} lines; at most {FUNCTION_LINES}")
    return breaches


def own_files(root):
    """The tracked and not yet tracked files that git does not ignore; every file where there is no git."""
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False
    )
    names = listing.stdout.splitlines()
    if listing.returncode != 0:
        names = [str(p.relative_to(root)) for p in Path(root).rglob("*") if "build" not in p.relative_to(root).parts]
    return sorted(n for n in names if Path(n).suffix in CODE | SCRIPTS and Path(root, n).is_file())


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    files = own_files(root)
    breaches = []
    for name in files:
        text = Path(root, name).read_text(encoding="utf-8")
        if Path(name).suffix in CODE:
            breaches += check_includes(name, text)
        breaches += check_budgets(name, text)
    for breach in breaches:
        print(breach)
    if not files:
        print(f"{root} holds no source file")
        return 1
    print(f"layers and budgets: {len(files)} files, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
