#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace toy {

/// One tokenizer algorithm, on a stretch of text between added tokens: each stretch starts afresh, with a space of its
/// own where the algorithm puts one before a text. Safe to use from several threads at once.
class Segmenter {
 public:
    virtual ~Segmenter() = default;
    /// Appends the ids of any bytes.
    virtual void encode(std::string_view text, std::vector<int32_t>& ids) const = 0;
    /// The same for a text that goes on after another: the algorithm puts no space before it.
    virtual void encode_continuation(std::string_view text, std::vector<int32_t>& ids) const { encode(text, ids); }
};

}  // namespace toy
