#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/gguf.h"
#include "models/spec.h"

namespace toy {

/// The keys and tensors of a model file as a family reads them: keys without their architecture prefix. Every getter
/// throws Error{bad_input} naming the whole key where it is missing or out of range.
class SpecKeys {
 public:
    explicit SpecKeys(const Gguf& file);

    const std::string& architecture() const { return architecture_; }
    const Metadata& metadata() const { return file_.metadata(); }
    /// A whole number in 1..2^31-1.
    int64_t size(std::string_view key) const;
    int64_t size_or(std::string_view key, int64_t fallback) const;
    /// A whole number in 0..2^31-1.
    int64_t count_or(std::string_view key, int64_t fallback) const;
    /// A finite number above 0.
    float positive(std::string_view key) const;
    float positive_or(std::string_view key, float fallback) const;
    std::string text_or(std::string_view key, const std::string& fallback) const;
    bool has(std::string_view key) const { return metadata().has(full(key)); }
    bool has_tensor(std::string_view name) const { return file_.find(name) != nullptr; }
    /// Rows of token_embd.weight; throws where the vocabulary of the tokenizer has another size.
    int64_t vocabulary() const;
    /// The key with its prefix: "llama.block_count".
    std::string full(std::string_view key) const;

 private:
    std::optional<int64_t> find_in(std::string_view key, int64_t least) const;
    const Gguf& file_;
    std::string architecture_;
};

/// What a GGUF architecture is in toy: one small file in families/ that maps its keys to a Spec.
struct Family {
    std::string_view architecture;
    std::string_view models;  ///< examples, for people
    Spec (*read)(const SpecKeys& keys);
};
std::span<const Family* const> families();

/// The sizes and the rope that all decoders name alike.
Spec read_common(const SpecKeys& keys, Rope::Order order);

/// Spec of a model file. Throws Error{bad_input} that names the architecture where no family reads it, or the key that
/// is missing or contradicts another.
Spec read_spec(const Gguf& file);

}  // namespace toy
