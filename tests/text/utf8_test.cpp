#include "text/utf8.h"

#include <gtest/gtest.h>

namespace toy {
namespace {

TEST(Utf8, DecodesWhatItAppends) {
    for (const char32_t code :
         {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFDu, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
        std::string text;
        utf8::append(text, code);
        const utf8::Character back = utf8::decode(text + "x");
        EXPECT_TRUE(back.valid);
        EXPECT_EQ(back.code, code);
        EXPECT_EQ(back.length, text.size());
        EXPECT_EQ(utf8::valid_prefix(text), text.size());
        EXPECT_EQ(utf8::incomplete_suffix(text), 0u);
        for (size_t cut = 1; cut < text.size(); ++cut) {
            EXPECT_FALSE(utf8::decode(text.substr(0, cut)).valid);
            EXPECT_EQ(utf8::incomplete_suffix("ab" + text.substr(0, cut)), cut);
            EXPECT_EQ(utf8::valid_prefix("ab" + text.substr(0, cut)), 2u);
        }
    }
}

TEST(Utf8, RefusesWhatIsNoCharacter) {
    // Lone continuation, overlong forms, surrogates, beyond U+10FFFF, bytes that never occur.
    for (const char* text :
         {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF", "\xC3(", "\xE4\xB8("}) {
        const utf8::Character first = utf8::decode(text);
        EXPECT_FALSE(first.valid) << text;
        EXPECT_EQ(first.length, 1u);
        EXPECT_EQ(first.code, utf8::replacement);
        EXPECT_EQ(utf8::valid_prefix(text), 0u);
    }
    EXPECT_EQ(utf8::incomplete_suffix("\xED\xA0"), 0u);  // no bytes to come can make this a character
    EXPECT_EQ(utf8::incomplete_suffix("\xE0\x80"), 0u);
    EXPECT_EQ(utf8::incomplete_suffix("\xC0"), 0u);
    EXPECT_EQ(utf8::incomplete_suffix("\xF4\x8F\xBF"), 3u);
}

TEST(Utf8, RepairsStrayBytes) {
    EXPECT_EQ(utf8::repaired(""), "");
    EXPECT_EQ(utf8::repaired("caf\u00e9 plain ascii text"), "caf\u00e9 plain ascii text");
    EXPECT_EQ(utf8::repaired("a\xFF\xC3"
                             "b\xE4\xB8"),
              "a\uFFFD\uFFFDb\uFFFD\uFFFD");
}

TEST(Utf8, ValidPrefixAtEveryPlaceOfAStrayByte) {
    for (size_t at = 0; at < 40; ++at) {
        std::string text(40, 'a');
        text[at] = '\xFF';
        EXPECT_EQ(utf8::valid_prefix(text), at);
    }
}

}  // namespace
}  // namespace toy
