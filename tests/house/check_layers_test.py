#!/usr/bin/env python3
"""Tests scripts/check-layers.py: breaches are found, and code that merely looks like one is not."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check-layers.py"
spec = importlib.util.spec_from_file_location("check_layers", SCRIPT)
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)


def body(lines):
    return "".join(f"    step({i});\n" for i in range(lines))


class Includes(unittest.TestCase):
    def breaches(self, path, text):
        return check.check_includes(path, text)

    def test_a_layer_may_include_itself_and_those_above(self):
        self.assertEqual(self.breaches("src/io/a.cpp", '#include "io/b.h"\n#include "core/c.h"\n#include <vector>\n'), [])

    def test_a_layer_may_not_include_one_below(self):
        (breach,) = self.breaches("src/io/a.cpp", '#include <vector>\n#include "text/b.h"\n')
        self.assertIn("src/io/a.cpp:2: io/ includes text/b.h", breach)
        self.assertEqual(len(self.breaches("src/core/a.h", "#  include <toy/tensor/b.h>\n")), 1)

    def test_ggml_headers_belong_to_tensor(self):
        self.assertEqual(self.breaches("src/tensor/a.cpp", '#include <ggml.h>\n#include "ggml-backend.h"\n'), [])
        for header in ("ggml.h", "ggml-cpu.h", "gguf.h", "ggml/ggml.h"):
            self.assertEqual(len(self.breaches("src/engine/a.cpp", f"#include <{header}>\n")), 1, header)
        self.assertEqual(self.breaches("src/io/a.cpp", '#include "io/gguf.h"\n'), [])

    def test_an_unknown_folder_is_a_breach(self):
        self.assertEqual(len(self.breaches("src/misc/a.cpp", "")), 1)


class Functions(unittest.TestCase):
    def found(self, text):
        return [(last - first + 1, name) for first, last, name in check.functions(text)]

    def test_plain_functions_methods_and_macros(self):
        text = (
            "namespace toy {\n\nint f(int a,\n      int b = g(3)) {\n" + body(3) + "}\n"
            "class C : public B {\n   public:\n    C() : a_(1), b_{2}, c_{h(3)} {\n" + body(2) + "    }\n"
            "    bool operator==(const C& o) const = default;\n    bool operator<=(const C& o) const {\n" + body(1) + "    }\n};\n"
            'TEST(Suite, Name) {\n' + body(4) + "}\n}  // namespace toy\n"
        )
        self.assertEqual(self.found(text), [(6, "f"), (4, "C"), (3, "operator<="), (6, "TEST")])

    def test_what_is_no_function(self):
        text = (
            'extern "C" {\nstruct alignas(64) S {\n    int a = f(1);\n    int b{g(2)};\n};\n}\n'
            "enum class E : int { a, b };\nconst Table table = {\n    {1, f(2)},\n    {3, f(4)},\n};\n"
            "template <class T = int>\nstruct X : Y<T> {};\nconstexpr std::array<P, 2> ps{{{1, 2}, {3, 4}}};\n"
        )
        self.assertEqual(self.found(text), [])

    def test_noise_hides_no_brace(self):
        text = (
            "#define OPEN if (x) {\n// void f() {\n/* void g() { */\nvoid h() {\n"
            "    s = \"}\"; c = '}'; n = 1'000'000; r = R\"x(})\" }}})x\"; c = '\\''; t = \"\\\"}\";\n    step();\n}\n"
        )
        self.assertEqual(self.found(text), [(4, "h")])

    def test_control_flow_and_lambdas_belong_to_their_function(self):
        text = "void f() {\n    for (;;) {\n        if (a) {\n        }\n    }\n    auto g = [&](int b) {\n        return b;\n    };\n}\n"
        self.assertEqual(self.found(text), [(9, "f")])

    def test_a_lambda_with_a_name_counts(self):
        self.assertEqual([n for n, _ in self.found("const auto f = [](int a) {\n" + body(5) + "};\n")], [7])

    def test_trailing_parts_of_a_signature(self):
        text = "template <class T>\n    requires(sizeof(T) == 4)\nauto f(T a) const noexcept(true) -> int {\n" + body(1) + "}\n"
        self.assertEqual([n for n, _ in self.found(text)], [5])


class Budgets(unittest.TestCase):
    def test_functions(self):
        self.assertEqual(check.check_budgets("src/io/a.cpp", "void f() {\n" + body(68) + "}\n"), [])
        (breach,) = check.check_budgets("src/io/a.cpp", "\nvoid f() {\n" + body(69) + "}\n")
        self.assertEqual(breach, "src/io/a.cpp:2: f has 71 lines; at most 70")

    def test_files(self):
        self.assertEqual(check.check_budgets("src/io/a.h", "\n" * 500), [])
        self.assertEqual(len(check.check_budgets("src/io/a.h", "\n" * 501)), 1)
        self.assertEqual(check.check_budgets("src/models/families/a.cpp", "\n" * 120), [])
        self.assertEqual(len(check.check_budgets("src/models/families/a.cpp", "\n" * 121)), 1)


class Program(unittest.TestCase):
    def test_exit_codes(self):
        with tempfile.TemporaryDirectory() as root:
            file = Path(root, "src", "core", "a.cpp")
            file.parent.mkdir(parents=True)
            file.write_text('#include "core/a.h"\n')
            run = [sys.executable, str(SCRIPT), root]
            self.assertEqual(subprocess.run(run, capture_output=True, check=False).returncode, 0)
            file.write_text('#include "cli/a.h"\n')
            failed = subprocess.run(run, capture_output=True, text=True, check=False)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("core/ includes cli/a.h", failed.stdout)


if __name__ == "__main__":
    unittest.main()
