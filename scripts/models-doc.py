#!/usr/bin/env python3
"""Keeps the tables of docs/models.md: families from src/models/families, checks from the fixtures of the oracles, and what
those checks measured from tests/fixtures/measured.json.
usage: scripts/models-doc.py            writes the tables
       scripts/models-doc.py --check    says whether they are stale (exit code 1)
       scripts/models-doc.py --measure  runs the checks of build/release first and records what they measure
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOC = ROOT / "docs/models.md"
MEASURED = ROOT / "tests/fixtures/measured.json"
TYPES = ["f32", "f16", "q8_0", "q4_k", "q6_k"]


def registry():
    """[(architecture, models, file)] in the order of family.cpp."""
    order = re.search(r"k_families = \{(.*?)\};", (ROOT / "src/models/family.cpp").read_text(), re.S).group(1)
    found = {}
    for path in sorted((ROOT / "src/models/families").glob("*.cpp")):
        for name, architecture, models in re.findall(r'const Family (\w+)\{"([^"]*)",\s*"([^"]*)"', path.read_text()):
            found[name] = (architecture, models, path.name)
    return [found[name] for name in re.findall(r"&(\w+)", order)]


def fixtures():
    """{model: {type: [fixture]}}"""
    found = {}
    for path in sorted((ROOT / "tests/fixtures/families").glob("*.json")):
        if path.stem.endswith("gelu-table"):
            continue
        model, kind = json.loads(path.read_text())["model"].split(":")
        found.setdefault(model, {}).setdefault(kind, []).append(path.stem)
    return found


def architecture_of(model):
    name = {"mistral": "llama", "mixtral": "llama"}.get(model.split("-")[0], model.split("-")[0])
    return "nomic-bert" if model.startswith("nomic-bert") else name


def measure():
    """Runs the checks and records their properties."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([ROOT / "build/release/bin/test_engine", "--gtest_filter=*FamilyOracle*:*Float64*",
                        f"--gtest_output=json:{out.name}"], check=True, stdout=subprocess.DEVNULL)
        suites = json.loads(pathlib.Path(out.name).read_text())["testsuites"]
    results = {}
    for test in (test for suite in suites for test in suite["testsuite"]):
        kind = "float64" if "Float64" in test["classname"] else "llama.cpp"
        values = {key: test[key] for key in ("largest_difference", "mean_kl", "relative_difference") if key in test}
        results.setdefault(kind, {})[test["name"].split("/")[-1]] = values
    MEASURED.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def cell(names, kind, measured):
    if not names:
        return "–"
    values = [measured.get(re.sub(r"[^A-Za-z0-9]", "_", name), {}) for name in names]
    if any("relative_difference" in v for v in values):
        return f"{max(float(v['relative_difference']) for v in values):.0e}"
    if kind in ("f32", "f16"):
        return f"{max(float(v.get('largest_difference', 'nan')) for v in values):.0e}"
    return f"KL {max(0.0, max(float(v.get('mean_kl', 'nan')) for v in values)):.0e}"


def tables():
    measured = json.loads(MEASURED.read_text())
    recorded = fixtures()
    lines = ["| architecture | models | " + " | ".join(t.upper() for t in TYPES) + " | float64 |",
             "|---" * (3 + len(TYPES)) + "|"]
    for architecture, models, file in registry():
        variants = [m for m in recorded if architecture_of(m) == architecture]
        for model in sorted(variants, key=lambda m: (m != architecture, m)):
            is_first = model == architecture
            head = f"[`{architecture}`](../src/models/families/{file}) | {models}" if is_first else f" | {model}"
            cells = [cell(recorded[model].get(kind, []), kind, measured["llama.cpp"]) for kind in TYPES]
            exact = measured["float64"].get(re.sub(r"[^A-Za-z0-9]", "_", model))
            cells.append(f"{float(exact['largest_difference']):.0e}" if exact else "–")
            lines.append(f"| {head} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments):
    if arguments == ["--measure"]:
        measure()
    elif arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    text = DOC.read_text()
    begin, end = "<!-- tables: scripts/models-doc.py -->\n", "\n<!-- end -->"
    head, rest = text.split(begin)
    fresh = head + begin + tables() + end + rest.split(end)[1]
    if arguments == ["--check"]:
        if fresh != text:
            sys.exit("docs/models.md is stale: run scripts/models-doc.py")
        return
    DOC.write_text(fresh)


if __name__ == "__main__":
    main(sys.argv[1:])
