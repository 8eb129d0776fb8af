#pragma once
#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/metadata.h"
#include "tensor/dtype.h"

namespace toy {

/// Collects keys and tensors, then writes a GGUF version 3 file in one atomic step (temporary name, fsync, rename): a
/// reader never sees half. Every mistake (a key that is empty or not lower snake case, a name of more than 63 bytes, a
/// duplicate, a shape that its type's blocks do not fit) throws Error{bad_input} when it is added, not when written.
class GgufWriter {
 public:
    /// Produces a tensor's bytes when the file is written, so that large tensors never lie in memory all at once.
    using Source = std::function<void(std::function<void(std::span<const std::byte>)> write)>;

    GgufWriter& set(std::string key, Value value);
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
    Metadata metadata_;
    std::vector<Entry> entries_;
};

}  // namespace toy
