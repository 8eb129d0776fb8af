#include "text/merges.h"

#include "core/error.h"
#include "io/quote.h"

namespace toy {
namespace {
constexpr std::string_view merges_key = "tokenizer.ggml.merges";
}

Merges::Merges(const Metadata& metadata, const Vocabulary& vocabulary) {
    const std::vector<std::string>& merges = metadata.strings(merges_key);
    if (merges.size() > max_merges) {
        bad_input("{}: key '{}' holds {} merges, at most {} are supported", metadata.origin(), merges_key,
                  merges.size(), max_merges);
    }
    slots_.assign(std::bit_ceil(2 * merges.size() + 2), Slot{});
    std::string whole;
    for (size_t rank = 0; rank < merges.size(); ++rank) {
        const std::string_view merge = merges[rank];
        const size_t space = merge.find(' ', 1);
        const auto refuse = [&](std::string_view reason) {
            bad_input("{}: merge {} of key '{}', {}, {}", metadata.origin(), rank, merges_key, quote(merge), reason);
        };
        if (space == merge.npos) refuse("is not two tokens with a space between them");
        whole.assign(merge.substr(0, space));
        whole += merge.substr(space + 1);
        const int32_t left = vocabulary.find(merge.substr(0, space));
        const int32_t right = vocabulary.find(merge.substr(space + 1));
        const int32_t merged = vocabulary.find(whole);
        if (left == Vocabulary::none) refuse("begins with a text that is no token");
        if (right == Vocabulary::none) refuse("ends with a text that is no token");
        if (merged == Vocabulary::none) refuse("makes a text that is no token");
        const uint64_t pair = key(left, right);
        Slot& slot = slots_[locate(pair)];
        if (slot.key == free)
            slot = {pair, {static_cast<int32_t>(rank), merged}};  // of repeated ones, the first counts
    }
}

}  // namespace toy
