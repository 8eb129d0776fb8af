#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/gguf.h"

namespace toy {

// What a header may claim. Each limit is far above what exists and far below what could exhaust memory or time.

/// Keys are at most this long by the specification.
constexpr uint64_t k_gguf_max_key_bytes = 65535;
/// ggml keeps names in 64 bytes with a final zero, so llama.cpp refuses 64 and more.
constexpr uint64_t k_gguf_max_name_bytes = 63;
/// Real files have some dozens of keys and a few thousand tensors (one per head and layer in files of the older toy).
constexpr uint64_t k_gguf_max_keys = uint64_t{1} << 16;
constexpr uint64_t k_gguf_max_tensors = uint64_t{1} << 20;
/// Keys, values and the tensor list together: a vocabulary of 262,144 tokens with merges takes about 15 MB, an embedded
/// tokenizer.json some 30 MB. What we allocate for a header is at most about five times its bytes (a string of no bytes
/// takes 8 in the file and 32 in memory), so this bounds memory even for sparse files of any size.
constexpr uint64_t k_gguf_max_header_bytes = uint64_t{256} << 20;
constexpr size_t k_gguf_default_alignment = 32;

/// The checked header of one file. Tensors have no `bytes` yet, and their `offset` still counts from `data_begin`.
struct GgufHeader {
    uint32_t version = 0;
    size_t alignment = k_gguf_default_alignment;
    Metadata metadata;
    std::vector<GgufTensor> tensors;
    uint64_t data_begin = 0;  ///< where tensor data starts in the file
    uint64_t data_bytes = 0;  ///< the tensors' data with the padding after each, as llama.cpp's reader demands it
};

/// Reads the header at the start of `file`; `path` names it in errors. Tensor data need not be there.
GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::string& path);

}  // namespace toy
