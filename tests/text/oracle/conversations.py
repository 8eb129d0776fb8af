"""The conversations that chat templates are rendered over."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather <now> & \"later\" in a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Its name, as in \"Łódź\""},
                "days": {"type": "integer", "minimum": 1, "default": 3},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "places": {"type": "array", "items": {"type": "string"}},
                "options": {"type": "object", "properties": {"wind": {"type": "boolean"}}, "required": []},
            },
            "required": ["city"],
        },
        "return": {"type": "object", "description": "Degrees"},
    },
}
CLOCK = {
    "type": "function",
    "function": {
        "name": "clock",
        "description": "Tells the time.",
        "parameters": {"type": "object", "properties": {}, "required": []},
    },
}


def call(name, arguments, identifier):
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


THREE_TURNS = [
    {"role": "user", "content": "Hello, who are you?"},
    {"role": "assistant", "content": "I am a test."},
    {"role": "user", "content": "  What is 1 + 1?\n"},
    {"role": "assistant", "content": "It is 2."},
    {"role": "user", "content": "Thanks!"},
]
SYSTEM = [{"role": "system", "content": "You are terse."}, *THREE_TURNS[:3]]
ANSWERED = [*SYSTEM, {"role": "assistant", "content": "\n2 \n"}]
UNICODE = [
    {"role": "system", "content": "Grüße, 世界 🌍"},
    {"role": "user", "content": "Zażółć gęślą jaźń\u00a0— \u2028 «ok»\ttab"},
    {"role": "assistant", "content": "İıß ﬁ \U0001f469\u200d\U0001f680"},
    {"role": "user", "content": "<|im_end|> {{ not a template }} {% nor this %}"},
]
EMPTY = [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}, {"role": "user", "content": " "}]
REASONING = [
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "Because.", "reasoning_content": "Let me\nthink."},
    {"role": "user", "content": "And now?"},
    {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nNow too."},
]
TOOLS = [
    {"role": "system", "content": "Use tools."},
    {"role": "user", "content": "Weather in Łódź?"},
    {"role": "assistant", "content": "", "tool_calls": [call("get_weather", {"city": "Łódź", "days": 2, "deep": {"a": [1, 2.5, None, True]}}, "call00001")]},
    {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": "{\"temp\": 21.5}"},
    {"role": "assistant", "content": "21.5 degrees."},
    {"role": "user", "content": "And the time, and Kraków?"},
    {
        "role": "assistant",
        "content": "Let me look.",
        "reasoning_content": "Two calls.",
        "tool_calls": [call("clock", {}, "call00002"), call("get_weather", {"city": "Kraków"}, "call00003")],
    },
    {"role": "tool", "name": "clock", "tool_call_id": "call00002", "content": "12:00"},
    {"role": "tool", "name": "get_weather", "tool_call_id": "call00003", "content": "20"},
]
STRING_ARGUMENTS = [
    {"role": "user", "content": "Time?"},
    {"role": "assistant", "content": None, "tool_calls": [call("clock", "{\"zone\": \"UTC\"}", "call00004")]},
    {"role": "tool", "name": "clock", "tool_call_id": "call00004", "content": "12:00"},
]
PARTS = [
    {"role": "user", "content": [{"type": "text", "text": "First part."}, {"type": "text", "text": " Second part."}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Both read."}]},
    {"role": "user", "content": [{"type": "text", "text": "Good."}]},
]

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def variables(messages, **more):
    return {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": True, **TOKENS, **more}


def all_conversations():
    """Pairs of a name and the variables of a rendering."""
    two = [WEATHER, CLOCK]
    result = []
    for name, messages in [
        ("three_turns", THREE_TURNS), ("system", SYSTEM), ("answered", ANSWERED), ("unicode", UNICODE),
        ("empty", EMPTY), ("reasoning", REASONING), ("parts", PARTS), ("string_arguments", STRING_ARGUMENTS),
    ]:
        for prompt in (True, False):
            result.append((f"{name}/{'prompt' if prompt else 'plain'}", variables(messages, add_generation_prompt=prompt)))
    result.append(("tools/prompt", variables(TOOLS, tools=two)))
    result.append(("tools/plain", variables(TOOLS, tools=two, add_generation_prompt=False)))
    result.append(("tools/none_given", variables(TOOLS)))
    result.append(("tools/first_question", variables(TOOLS[:2], tools=two)))
    result.append(("tools/answer", variables(TOOLS[:5], tools=two, add_generation_prompt=False)))
    result.append(("thinking/off", variables(SYSTEM, enable_thinking=False)))
    result.append(("thinking/on", variables(SYSTEM, enable_thinking=True, thinking=True)))
    result.append(("no_messages", variables([])))
    return result
