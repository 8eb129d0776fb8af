"""The texts of the tokenizer fixtures: made by hand where a rule has an edge, and at random."""
import random

BY_HAND = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n\n\n", "\r\n", "\r\n\r\n", " \n", "\n ", " \n \n", "\t\t\n\n x", "a\n\n\n\nb",
    "Hello world", " Hello  World!", "   leading", "trailing   ", "a  b   c    d", "tabs\t\tand\t spaces \t", "x\r\ny\rz\n\r",
    "I'm he's we've you'd they'll she'RE it'S 'Tis d'Or 'sure o'clock 'LL 'Ve", "'s't're've'm'll'd", "'ſ 'ſt Kelvin \u212A",
    "don’t ‘quote’ “double” `back`", "'", "''", "' '", "x'", "'1", "1's",
    "1", "12", "123", "1234", "12345", "123456", "1234567", "12345678901234567890", "1,234,567.89", "0x1F 3e-5 1/2 2²³ ½ Ⅷ ٣٤٥ ৪২",
    "abc123def4567gh", "123abc", "1234abc", "1234567_x", "1234½", "½1234", "12½3456x", "  12  345   6789", "v1.2.3-rc4", "(555) 123-4567",
    "1234é 1234. 1234- 1234٣ 1234字 1234_", "٣٤٥٦٧ 1٣2٤ 123٤٥٦", "3 33 333 3333 33333 333333 3333333 33333333 3.3 3..3 3...3",
    "HelloWorld helloWorld HELLOworld HTTPServer iPhone McDonald's ABC's", "ÉCOLEécole ÀÉÎ àéî Ñandú STRASSE Straße ǅungla ǆ ʰa", "ΑΒΓαβγ Σίσυφος ΑΣ",
    "Привет МИРмир ЁЛКА ёлка", "İstanbul ISTANBUL ıi", "e\u0301e\u0301 E\u0301COLE a\u0308\u0323 \u0301start", "\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27 ภาษาไทย",
    "हिन्दी में कि की क्षत्रिय बंगলা বাংলা தமிழ் తెలుగు", "العربية مَرْحَبًا بِكُم، كيف؟", "עִבְרִית שָׁלוֹם", "កាន់តែពិសេសអាចខលចេញ", "한국어 안녕하세요 ㄱㄴㄷ ᄒ\u1161\u11ab", "日本語のテスト。カタカナ ｶﾀｶﾅ 漢字 々〇",
    "中文测试，你好！“世界”…—（括号）", "我想在apple工作1314151天～", "ABC中文DEF漢abc 中a文b", "⺀⺁!⻳ ⼀ !⺀ 1〇 〇1 〡", "豈更車 \uf900 \ua000 \u3105\u3106 \uac00\ud7a3", "𠀀𪜀 𫝀 𫠠",
    "!!!", "?!?!", "...", "…", "a.b,c;d:e", "(a)[b]{c}<d>", "++--==<=>=!=&&||", "$100 €50 £20 ¥30 ₿1", "foo_bar __init__ snake_case kebab-case", "a/b/c //comment\n/*x*/\n", "#include <stdio.h>\n\nint main() {\n\treturn 0;\n}\n",
    "http://example.com/a?b=c&d=e#f user@mail.org", "~`!@#$%^&*()_+-={}|[]\\:\";'<>?,./", " ! \" # $", "!a !ab a!b", "`a` ``b``", "-a --b ---c", "x= y =z", "a|b,c.d!e?f、g。h",
    "<s> </s> <unk> <0x0A> <|endoftext|> <|im_start|>user\nhi<|im_end|> <mask>  [MASK] [CLS]", "  <s>  hi  </s>  ", "<|user|>\nHi<|end|>\n<|assistant|>  x", "<mask>", " a <mask> b", "<sentinel:12> <sentinel:x> IMGIMGABZ IMGIMGABCDEZ", "<bos><start_of_turn>user\n<end_of_turn>", "[INST] x [/INST]",
    "a\u00a0b\u00a0\u00a0c", "a\u0085b", "\u0085\u0085 x", "a\u180eb \u180e \u180e\u180e", "a\u2028b\u2029c", "\u3000\u3000全角", "a\u200bb\u200cc\u200dd\ufeff", "\u2000\u2001\u202f\u205f x", "\u001c\u001d\u001e\u001f\u000b\u000c x", "\u0000a\u0001b\u007fc", "\u00ad soft", "\ufffd \ufffc",
    "👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️ ☺ ✅🚀😶‍🌫️", "🦙.cpp", "⑴ ① ㈠ ⅓ ↉ 𝟙𝟚𝟛 𝐀𝐛 𝒞", "\ue000 \uf8ff \U000f0000", "\u0378 \u0530x", "©®™°±×÷ªº", "→←↑↓ ∀∂∈ ∞≠", "▁ ▁▁ a▁b", "Ġa ĊÄ", "ﬁ ﬂ ﬀ Ａｂｃ １２３ ！？",
    "once upon a time, there was a little girl named Lily. She loved to play outside.", "The quick brown fox jumps over the lazy dog. 12:34:56\n\n\tNext paragraph...",
    "Supercalifragilisticexpialidocious antidisestablishmentarianism", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "                                                                 x",
    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", "----------------------------------------", "= = = =", "a b c d e", "L E X E D", "안 녕 a b",
]

# What random texts are put together from; a piece that stands twice comes twice as often.
PIECES = (
    list("abcdefghijklmnopqrstuvwxyz") + list("ABCDEFGHIJKLMNOPQRSTUVWXYZ") + list("0123456789" * 2) + [" "] * 30 + ["\n"] * 8
    + ["\r\n", "\r", "\t", "  ", "   ", "\n\n", " \n"] + list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    + ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'RE", "'lL", "’s"] + ["the", "The", "ing", " of", " and", "tion", "Hello", " world"]
    + list("éèàÉÀßÆøñÑǅǆʰªº") + list("αβΑΒσΣςάΆ") + list("бвБВёЁйЙ") + list("中文字漢字国") + list("⺀⻳〇々〡") + list("あいアイー") + list("한국어가힣ㄱ")
    + list("ทยกข") + ["\u0e34", "\u0e49"] + list("हिकी") + ["\u094d", "\u0901"] + list("עברית") + ["\u05b4"] + list("عربي") + ["\u064e", "\u0651"]
    + list("٣٤٥") + list("৪২") + list("²³½Ⅷ①〇") + ["\u0301", "\u0308", "\u0323", "\u20dd"] + list("😀👍🏽❤") + ["\u200d", "\ufe0f", "\u200b", "\u00ad"]
    + ["\u00a0", "\u0085", "\u180e", "\u2028", "\u2029", "\u3000", "\u2003", "\u000b", "\u000c", "\u001f"] + ["\ue000", "\ufffd", "\u0378", "\U000f0000"]
    + list("€£¥±×÷©→∞≠°") + list("。、！？「」…—“”‘’·") + list("𝐀𝟙𐐀𐐨")
)


def texts():
    """The same list on every call."""
    choice = random.Random(20250101)
    result = list(BY_HAND)
    for _ in range(300):
        result.append("".join(choice.choice(PIECES) for _ in range(choice.randint(1, 24))))
    return result
