"""Records what Jinja2 makes of chat templates: fixtures/chat_templates.json (hashes, for the templates of llama.cpp's
repository, which are not ours to copy) and fixtures/own_chat_templates.json (full texts, for those in fixtures/chat).

usage: chat_templates.py TEMPLATES      the folder build/ggml-source/models/templates
"""

import json
import sys
from pathlib import Path

import conversations
import jinja_oracle

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


def fnv1a(data):
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def summary(result):
    """Length in bytes and hash of the text; "refused" where Jinja2 raises."""
    if "error" in result:
        return "refused"
    data = result["expected"].encode()
    return f"{len(data)}:{fnv1a(data):08x}"


def write(name, value):
    (FIXTURES / name).write_text(json.dumps(value, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def main():
    cases = conversations.all_conversations()
    foreign = {}
    for path in sorted(Path(sys.argv[1]).glob("*.jinja")):
        source = path.read_bytes()
        text = source.decode()
        foreign[path.name] = {
            "source": f"{len(source)}:{fnv1a(source):08x}",
            "results": [summary(jinja_oracle.render(text, variables)) for _, variables in cases],
        }
    write("chat_templates.json", {"conversations": cases, "templates": foreign})
    own = {}
    for path in sorted((FIXTURES / "chat").glob("*.jinja")):
        text = path.read_bytes().decode()
        own[path.name] = [jinja_oracle.render(text, variables).get("expected") for _, variables in cases]
    write("own_chat_templates.json", own)


if __name__ == "__main__":
    main()
