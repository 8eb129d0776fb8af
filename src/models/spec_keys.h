#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf.h"

namespace toy {

/// The keys and tensors of a model file as a family reads them: keys without their architecture prefix. Every getter
/// throws Error{bad_input} naming the whole key where it is missing, of another type or out of range.
class SpecKeys {
 public:
    explicit SpecKeys(const Gguf& file);
    /// The same of a file that is not written yet. `rows` tells the rows of a tensor (1 of a vector), or nothing where
    /// there is none of that name. Both must outlive the object.
    using Rows = std::function<std::optional<int64_t>(std::string_view tensor)>;
    SpecKeys(const Metadata& metadata, Rows rows);

    const std::string& architecture() const { return architecture_; }
    const Metadata& metadata() const { return metadata_; }
    const std::string& origin() const { return metadata().origin(); }
    /// A whole number in 1..2^31-1.
    int64_t size(std::string_view key) const;
    int64_t size_or(std::string_view key, int64_t fallback) const;
    /// A whole number in 0..2^31-1.
    int64_t count_or(std::string_view key, int64_t fallback) const;
    /// The same where the file may state one number for all layers or a list with one for each: the number that all
    /// share. Throws where they differ.
    int64_t uniform_size(std::string_view key) const;
    int64_t uniform_size_or(std::string_view key, int64_t fallback) const;
    /// A finite number above 0.
    float positive(std::string_view key) const;
    float positive_or(std::string_view key, float fallback) const;
    /// A finite number.
    float number_or(std::string_view key, float fallback) const;
    std::string text_or(std::string_view key, const std::string& fallback) const;
    bool flag(std::string_view key) const { return metadata().boolean(full(key)); }
    bool flag_or(std::string_view key, bool fallback) const;
    /// One flag for each of `layers`, or nothing where the file has no such list.
    std::optional<std::vector<bool>> flags(std::string_view key, int64_t layers) const;
    bool has(std::string_view key) const { return metadata().has(full(key)); }
    bool has_tensor(std::string_view name) const { return rows_(name).has_value(); }
    /// Rows of token_embd.weight; throws where the vocabulary of the tokenizer has another size.
    int64_t vocabulary() const;
    /// Rows of a tensor, or 0 where there is none of that name.
    int64_t rows_of(std::string_view tensor) const;
    /// The key with its prefix: "llama.block_count".
    std::string full(std::string_view key) const;
    /// The keys, with their prefix, that were looked for until now.
    const std::set<std::string>& asked() const { return asked_; }

 private:
    std::optional<int64_t> find_in(std::string_view key, int64_t least) const;
    const Metadata& metadata_;
    Rows rows_;
    std::string architecture_;
    mutable std::set<std::string> asked_;
};

}  // namespace toy
