#include "text/trie.h"

#include <algorithm>

namespace toy {
namespace {

/// The first eight bytes as a number that sorts as they do: most comparisons need no more.
uint64_t leading_bytes(std::string_view text) {
    uint64_t number = 0;
    for (size_t i = 0; i < 8; ++i) number = number << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
    return number;
}

/// The entries [begin, end) that share the first `depth` bytes: the subtree of one node.
struct Range {
    uint32_t node;
    size_t begin, end, depth;
};

}  // namespace

Trie::Trie(const std::vector<Entry>& entries) {
    struct Keyed {
        uint64_t leading;
        Entry entry;
    };
    std::vector<Keyed> sorted;
    sorted.reserve(entries.size());
    for (const Entry& entry : entries) sorted.push_back({leading_bytes(entry.text), entry});
    std::stable_sort(sorted.begin(), sorted.end(), [](const Keyed& a, const Keyed& b) {
        return a.leading != b.leading ? a.leading < b.leading : a.entry.text < b.entry.text;
    });

    nodes_.emplace_back();
    labels_.push_back(0);
    std::vector<Range> queue = {{0, 0, sorted.size(), 0}};  // breadth first, so that children lie side by side
    for (size_t next = 0; next < queue.size(); ++next) {
        const Range range = queue[next];
        size_t at = range.begin;
        for (; at < range.end && sorted[at].entry.text.size() == range.depth; ++at) {
            nodes_[range.node].id = sorted[at].entry.id;
        }
        nodes_[range.node].first_child = static_cast<uint32_t>(nodes_.size());
        while (at < range.end) {
            const char label = sorted[at].entry.text[range.depth];
            size_t end = at + 1;
            while (end < range.end && sorted[end].entry.text[range.depth] == label) ++end;
            queue.push_back({static_cast<uint32_t>(nodes_.size()), at, end, range.depth + 1});
            nodes_.emplace_back();
            labels_.push_back(static_cast<uint8_t>(label));
            ++nodes_[range.node].children;
            at = end;
        }
    }
}

}  // namespace toy
