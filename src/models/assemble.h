#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/gguf.h"
#include "models/weights.h"

namespace toy {

/// A weight that the file holds in another layout, put together in host memory.
struct Assembled {
    Layout layout;
    std::vector<std::byte> bytes;
    std::vector<std::string> sources;  ///< the tensors of the file that it was made of
};

/// The weight of that entry from
/// - attn_kv_b [H·(n + dv), c] of older DeepSeek-V2 files: attn_k_b as f32, transposed, attn_v_b as it is stored;
/// - one tensor for each head (blk.0.attn_q.head_0.weight), as the older toy wrote them;
/// or nothing. Throws Error{bad_input} naming the tensor where a part is missing or of another shape or type.
std::optional<Assembled> assemble(const WeightEntry& entry, const Gguf& file, const Spec& spec);

}  // namespace toy
