"""Jinja2 as Hugging Face's transformers sets it up for chat templates: the oracle of src/text/jinja.

Needs Debian's python3-jinja2. Imported by chat_templates.py and random_templates.py beside it.
"""

import datetime
import json

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

# What strftime_now sees, everywhere: Sunday, 26 July 2026, noon.
NOW = datetime.datetime(2026, 7, 26, 12, 0, 0)


class Generation(Extension):
    """{% generation %} as transformers parses it: a call block, so a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    result = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    result.filters["tojson"] = tojson
    result.globals["raise_exception"] = raise_exception
    result.globals["strftime_now"] = lambda format: NOW.strftime(format)
    return result


def render(template, variables):
    """The text, or an exception's name and message: {"expected": …} or {"error": …}."""
    try:
        return {"expected": environment().from_string(template).render(**variables)}
    except Exception as error:  # whatever Python raises counts as a refusal
        return {"error": f"{type(error).__name__}: {error}"}
