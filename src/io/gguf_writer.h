#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "io/metadata.h"
#include "tensor/dtype.h"

namespace toy {

/// Collects keys and tensors, then writes a GGUF version 3 file in one atomic step (temporary name, fsync, rename): a
/// reader never sees half. Every mistake (a key that is empty or has other characters than a-z, 0-9, '_', '.', '-'; a
/// name of more than 63 bytes; a duplicate; a shape that its type's blocks do not fit) throws Error{bad_input} when it
/// is added, not when written. Tensor data is aligned to `general.alignment` where that key is set (a u32, a power of
/// two), else to 32 bytes.
class GgufWriter {
 public:
    /// Produces a tensor's bytes when the file is written, so that large tensors never lie in memory all at once. It
    /// may call `write` several times; together the pieces have to be exactly the tensor.
    using Source = std::function<void(std::function<void(std::span<const std::byte>)> write)>;

    GgufWriter& set(std::string key, Value value);
    /// A key of another file as it stands there, whatever characters it has.
    GgufWriter& copy(std::string key, Value value);
    /// `ne` in ggml order (fastest axis first), 1 to 4 axes; `bytes` must stay valid until `write`.
    GgufWriter& add(std::string name, DType type, std::vector<int64_t> ne, std::span<const std::byte> bytes);
    GgufWriter& add(std::string name, DType type, std::vector<int64_t> ne, Source source);
    /// float32 values converted to `type` and owned by the writer.
    GgufWriter& add_f32(std::string name, DType type, std::vector<int64_t> ne, std::span<const float> values);

    void write(const std::filesystem::path& path) const;

 private:
    struct Entry {
        std::string name;
        DType type;
        std::vector<int64_t> ne;
        size_t bytes;
        Source source;
    };
    Entry& reserve(std::string name, DType type, std::vector<int64_t> ne);
    size_t alignment() const;
    std::string header(size_t alignment) const;

    Metadata metadata_;
    std::vector<Entry> entries_;
    std::unordered_set<std::string> names_;
};

}  // namespace toy
