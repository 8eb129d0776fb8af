#include "text/merges.h"

#include <optional>

#include "core/error.h"
#include "io/quote.h"

namespace toy {
namespace {

constexpr std::string_view merges_key = "tokenizer.ggml.merges";

/// The token of that text. Most vocabularies list tokens in the order in which merges make them, so that the next is
/// the last one or the one after it: that look-up costs no cache miss, and there are half a million of them.
int32_t find_near(const Vocabulary& vocabulary, std::string_view text, int32_t last) {
    if (vocabulary.text(last) == text) return last;
    if (last + 1 < vocabulary.size() && vocabulary.text(last + 1) == text) return last + 1;
    return vocabulary.find(text);
}

struct Halves {
    std::string_view left, right;
};

/// "left right"; the left one has at least one byte, which may be a space. Where there is no such space both are empty.
Halves halves(std::string_view merge) {
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) return {};
    return {merge.substr(0, space), merge.substr(space + 1)};
}

}  // namespace

Merges::Merges(const Metadata& metadata, const Vocabulary& vocabulary) {
    const std::vector<std::string>& merges = metadata.strings(merges_key);
    if (merges.size() > max_merges) {
        bad_input("{}: key '{}' holds {} merges, at most {} are supported", metadata.origin(), merges_key,
                  merges.size(), max_merges);
    }
    std::vector<Slot> resolved;
    resolved.reserve(merges.size());
    std::string whole;
    int32_t merged = 0;
    for (size_t rank = 0; rank < merges.size(); ++rank) {
        const auto refuse = [&](std::string_view reason) {
            bad_input("{}: merge {} of key '{}', {}, {}", metadata.origin(), rank, merges_key, quote(merges[rank]),
                      reason);
        };
        const Halves parts = halves(merges[rank]);
        if (parts.left.empty()) refuse("is not two tokens with a space between them");
        whole.assign(parts.left);
        whole += parts.right;
        const int32_t left = vocabulary.find(parts.left);
        const int32_t right = vocabulary.find(parts.right);
        merged = find_near(vocabulary, whole, merged);
        if (left == Vocabulary::none) refuse("begins with a text that is no token");
        if (right == Vocabulary::none) refuse("ends with a text that is no token");
        if (merged == Vocabulary::none) refuse("makes a text that is no token");
        resolved.push_back({key(left, right), {static_cast<int32_t>(rank), merged}});
    }
    fill(resolved);
}

void Merges::fill(const std::vector<Slot>& merges) {
    constexpr size_t ahead = 8;  // every slot is a cache miss: that many are under way at once
    slots_.assign(std::bit_ceil(merges.size() + merges.size() / 2 + 1), Slot{});
    for (size_t i = 0; i < merges.size(); ++i) {
        if (i + ahead < merges.size()) __builtin_prefetch(&slots_[home(merges[i + ahead].key)], 1);
        Slot& slot = slots_[locate(merges[i].key)];
        if (slot.key == free) slot = merges[i];  // of repeated ones, the first counts
    }
}

}  // namespace toy
