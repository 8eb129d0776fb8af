#include "text/added_tokens.h"

#include <algorithm>

namespace toy {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool contains(const std::vector<std::string_view>& texts, std::string_view text) {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

AddedTokens::AddedTokens(const Vocabulary& vocabulary, const Stripping& stripping) {
    std::vector<Trie::Entry> texts;
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
        const TokenType type = vocabulary.type(id);
        const bool special = type == TokenType::control || type == TokenType::unknown;
        const std::string_view text = vocabulary.text(id);
        if (text.empty() || !(special || type == TokenType::user_defined)) continue;
        texts.push_back({text, static_cast<int32_t>(entries_.size())});
        entries_.push_back({id, text.size(), special, contains(stripping.left, text),
                            stripping.right && !contains(stripping.not_right, text)});
    }
    trie_ = Trie(texts);
}

const AddedTokens::Entry* AddedTokens::longest_at(std::string_view text, bool parse_special) const {
    const Entry* longest = nullptr;
    trie_.for_each_prefix(text, [&](size_t, int32_t index) {
        if (parse_special || !entries_[index].special) longest = &entries_[index];
    });
    return longest;
}

std::vector<AddedTokens::Fragment> AddedTokens::split(std::string_view text, bool parse_special) const {
    std::vector<Fragment> fragments;
    size_t begin = 0;  // of the stretch that no token has matched yet
    for (size_t at = 0; at < text.size();) {
        const Entry* found = longest_at(text.substr(at), parse_special);
        if (found == nullptr) {
            ++at;
            continue;
        }
        size_t end = at;
        while (found->strip_left && end > begin && is_space(text[end - 1])) --end;
        if (end > begin) fragments.push_back({text.substr(begin, end - begin)});
        fragments.push_back({{}, found->id});
        at += found->length;
        while (found->strip_right && at < text.size() && is_space(text[at])) ++at;
        begin = at;
    }
    if (begin < text.size()) fragments.push_back({text.substr(begin)});
    return fragments;
}

}  // namespace toy
