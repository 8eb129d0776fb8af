#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/mapped_file.h"
#include "io/metadata.h"
#include "tensor/dtype.h"

namespace toy {

/// One tensor of a file: what the header says of it, and its bytes inside the mapped file.
struct GgufTensor {
    std::string name;
    DType type;
    int rank;                   ///< 1 to 4
    std::array<int64_t, 4> ne;  ///< ggml order: ne[0] is the fastest axis; 1 beyond the rank; 0 is possible
    size_t part;                ///< which file of a split model
    uint64_t offset;            ///< from the start of that file, in bytes
    std::span<const std::byte> bytes;

    int64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
};

struct GgufHeader;

/// A GGUF file (version 2 or 3, little endian; specification: github.com/ggml-org/ggml/blob/master/docs/gguf.md),
/// memory-mapped and checked as a whole when opened: afterwards every name, length and offset lies inside the file.
/// A split model (`-00001-of-0000N.gguf`) opens through any of its parts and reads as one.
///
/// As strict as llama.cpp's reader, and where that is lax, stricter. Tensors lie in the order of the list without gaps,
/// each padded to the alignment, the last one too (so a download that lacks its end is noticed). Names and keys are
/// compared byte by byte: names that differ in case alone are two names. Strings and keys are bytes, not checked to be
/// UTF-8. What a header may claim at most: gguf_header.h.
class Gguf {
 public:
    /// Throws Error{bad_input} with one sentence that names the path and the key, tensor or byte offset.
    static Gguf open(const std::filesystem::path& path);
    /// One file without its data, which may be missing (a download that has only begun): the header is checked as
    /// `open` does it, every tensor's `bytes` are empty, and a part of a split model stands alone.
    static Gguf open_header(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return parts_.front()->path(); }
    uint32_t version() const { return version_; }
    size_t alignment() const { return alignment_; }
    const Metadata& metadata() const { return metadata_; }
    const std::vector<GgufTensor>& tensors() const { return tensors_; }
    /// The tensor of that name, or null.
    const GgufTensor* find(std::string_view name) const;
    /// The mapped files, in order; they live as long as any Gguf (or Params) that shares them.
    const std::vector<std::shared_ptr<const MappedFile>>& parts() const { return parts_; }

 private:
    /// Appends the file's tensors (without bytes) and sorts the index; throws where a name occurs twice.
    void append(GgufHeader header, std::shared_ptr<const MappedFile> file);
    void build_index();

    std::vector<std::shared_ptr<const MappedFile>> parts_;
    uint32_t version_ = 0;
    size_t alignment_ = 0;
    Metadata metadata_;
    std::vector<GgufTensor> tensors_;
    std::vector<uint32_t> by_name_;  ///< positions in tensors_, in the order of the names
};

}  // namespace toy
