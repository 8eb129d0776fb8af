#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace toy {

/// Texts by their bytes: finds all that are prefixes of another text, in one walk.
class Trie {
 public:
    struct Entry {
        std::string_view text;  ///< not empty; needed during construction only
        int32_t id;             ///< not negative
    };
    Trie() = default;
    /// Of equal texts, the last in the list counts.
    explicit Trie(const std::vector<Entry>& entries);

    /// Calls `found(length, id)` for every entry that `text` begins with, the shortest first.
    template <class Found>
    void for_each_prefix(std::string_view text, const Found& found) const {
        if (nodes_.empty()) return;
        uint32_t at = 0;
        for (size_t depth = 0; depth < text.size(); ++depth) {
            const Node& node = nodes_[at];
            if (node.children == 0) return;
            const uint8_t* labels = labels_.data() + node.first_child;
            const void* child = std::memchr(labels, static_cast<uint8_t>(text[depth]), node.children);
            if (child == nullptr) return;
            at = node.first_child + static_cast<uint32_t>(static_cast<const uint8_t*>(child) - labels);
            if (nodes_[at].id >= 0) found(depth + 1, nodes_[at].id);
        }
    }

 private:
    struct Node {
        uint32_t first_child = 0;  // children lie side by side, by label
        uint16_t children = 0;
        int32_t id = -1;  // of the entry that ends here
    };
    std::vector<Node> nodes_;
    std::vector<uint8_t> labels_;  // labels_[n]: the byte that leads to node n
};

}  // namespace toy
