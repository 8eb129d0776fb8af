#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

namespace toy {

/// One training text as a model sees it: attention and positions never cross from one document to another.
struct Document {
    std::vector<int32_t> ids;
    std::vector<bool> is_target;  ///< for each token, whether the model learns to predict it; as long as `ids`

    void append(std::span<const int32_t> tokens, bool predicted) {
        ids.insert(ids.end(), tokens.begin(), tokens.end());
        is_target.resize(ids.size(), predicted);
    }
    void append(int32_t token, bool predicted) { append(std::span(&token, 1), predicted); }
};

/// Turns a conversation, an array of objects with a "role", into a document as the model's chat template writes it,
/// with exactly that to be predicted which the assistant says, the token that ends its turn included (trl#5988). Throws
/// Error{bad_input} with one sentence for a conversation that the template refuses; the reader puts file and line
/// before it.
using EncodeConversation = std::function<Document(const nlohmann::ordered_json& messages)>;

}  // namespace toy
