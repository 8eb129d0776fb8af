#include "fixtures.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "small_vocabularies.h"
#include "text/byte_letters.h"
#include "text/utf8.h"
#include "vocabularies.h"

namespace toy::test {

nlohmann::json fixture(std::string_view name) {
    return nlohmann::json::parse(read_file(fmt::format("{}/tests/text/fixtures/{}.json", TOY_SOURCE_DIR, name)));
}

const std::vector<std::string>& fixture_texts() {
    static const std::vector<std::string> texts = fixture("texts");
    return texts;
}

uint32_t fnv1a(std::string_view bytes) {
    uint32_t hash = 0x811C9DC5;
    for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x01000193;
    return hash;
}

std::string digest(const std::vector<int32_t>& ids) {
    return fmt::format("{:08x}", fnv1a({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof ids[0]}));
}

Metadata all_pairs_metadata() {
    std::vector<std::string> letters(256), tokens, merges;
    for (int byte = 0; byte < 256; ++byte) utf8::append(letters[byte], byte_to_letter(static_cast<uint8_t>(byte)));
    tokens = letters;
    for (uint32_t rank = 0; rank < 65536; ++rank) {
        const uint32_t pair = (rank * 40503 + 12345) % 65536;
        tokens.push_back(letters[pair >> 8] + letters[pair & 255]);
        merges.push_back(letters[pair >> 8] + " " + letters[pair & 255]);
    }
    Metadata metadata("all pairs");
    set(metadata, "model", "gpt2");
    set(metadata, "add_bos_token", false);
    set(metadata, "tokens", std::move(tokens));
    set(metadata, "merges", std::move(merges));
    return metadata;
}

void expect_encodings(const Tokenizer& tokenizer, std::string_view expected, Tokenizer::EncodeOptions options,
                      std::string_view what, const std::function<bool(std::string_view)>& is_excused) {
    const std::vector<std::string>& texts = fixture_texts();
    ASSERT_EQ(expected.size(), 8 * texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
        if (is_excused && is_excused(texts[i])) continue;
        const std::vector<int32_t> ids = tokenizer.encode(texts[i], options);
        EXPECT_EQ(digest(ids), expected.substr(8 * i, 8))
            << what << ", text " << i << ": " << testing::PrintToString(texts[i])
            << "\nours: " << fmt::format("{}", ids);
    }
}

}  // namespace toy::test
