#include "text/unigram.h"

#include <algorithm>
#include <limits>

#include "text/utf8.h"

namespace toy {
namespace {

constexpr std::string_view escaped_space = "\u2581";
constexpr float unknown_penalty = 10;  // below the worst token: SentencePiece's kUnkPenalty

}  // namespace

Unigram::Unigram(const Metadata& metadata, const Vocabulary& vocabulary, int32_t unknown, bool add_space_prefix)
    : vocabulary_(vocabulary),
      charsmap_(metadata),
      unknown_(unknown),
      add_space_prefix_(add_space_prefix),
      merge_spaces_(metadata.find_boolean("tokenizer.ggml.remove_extra_whitespaces").value_or(false)) {
    float worst = 0;
    std::vector<Trie::Entry> tokens, user_defined;
    tokens.reserve(vocabulary.size());
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
        if (vocabulary.type(id) == TokenType::normal) worst = std::min(worst, vocabulary.score(id));
        if (!vocabulary.is_ordinary(id) || vocabulary.text(id).empty()) continue;
        tokens.push_back({vocabulary.text(id), id});
        if (vocabulary.type(id) == TokenType::user_defined) user_defined.push_back(tokens.back());
    }
    unknown_score_ = worst - unknown_penalty;
    tokens_ = Trie(tokens);
    user_defined_ = Trie(user_defined);
}

/// Replaces by the map (user-defined tokens stay), writes spaces as "▁", runs of them as one where the model says so.
std::string Unigram::normalise(std::string_view text) const {
    std::string result;
    result.reserve(text.size() * 3 / 2);
    bool in_word = false, prefixed = false;
    const auto append = [&](std::string_view bytes) {
        for (const char c : bytes) {
            if (c == ' ') {
                in_word = false;
                if (!merge_spaces_) result += escaped_space;
                continue;
            }
            if (!in_word && ((add_space_prefix_ && !prefixed) || merge_spaces_)) {
                result += escaped_space;
                prefixed = true;
            }
            in_word = true;
            result += c;
        }
    };
    while (!text.empty()) {
        size_t consumed = 0;
        user_defined_.for_each_prefix(text, [&](size_t length, int32_t) { consumed = length; });
        if (consumed > 0) {
            append(text.substr(0, consumed));
        } else if (const auto match = charsmap_.match(text)) {
            consumed = match->consumed;
            append(match->replacement);
        } else {
            const utf8::Character next = utf8::decode(text);
            consumed = next.length;
            append(next.valid ? text.substr(0, consumed) : "\uFFFD");
        }
        text.remove_prefix(consumed);
    }
    return result;
}

void Unigram::encode(std::string_view text, std::vector<int32_t>& ids) const {
    const std::string normal = normalise(text);
    if (normal.empty()) return;
    /// The best way to write the text up to a position: its last token, where that begins, and the sum of scores.
    struct Best {
        double score = -std::numeric_limits<double>::max();
        size_t begin = 0;
        int32_t id = Vocabulary::none;
    };
    std::vector<Best> best(normal.size() + 1);
    best[0].score = 0;
    for (size_t at = 0; at < normal.size();) {
        const std::string_view rest = std::string_view(normal).substr(at);
        const size_t character = utf8::decode(rest).length;
        const auto challenge = [&](size_t length, int32_t id, double score) {
            Best& champion = best[at + length];
            if (best[at].score + score > champion.score) champion = {best[at].score + score, at, id};
        };
        bool known = false;
        tokens_.for_each_prefix(rest, [&](size_t length, int32_t id) {
            known |= length == character;
            challenge(length, id, vocabulary_.type(id) == TokenType::user_defined ? 0.0 : vocabulary_.score(id));
        });
        if (!known) challenge(character, unknown_, unknown_score_);
        at += character;
    }
    const size_t before = ids.size();
    for (size_t at = normal.size(); at > 0; at = best[at].begin) {
        const bool repeated_unknown = best[at].id == unknown_ && ids.size() > before && ids.back() == unknown_;
        if (!repeated_unknown) ids.push_back(best[at].id);
    }
    std::reverse(ids.begin() + before, ids.end());
}

}  // namespace toy
