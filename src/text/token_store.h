#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/mapped_file.h"
#include "text/data_files.h"
#include "text/document.h"

namespace toy {

/// The token ids of a corpus, one after the other: in memory, or in a mapped file of packed ids.
class TokenStore {
 public:
    TokenStore() = default;
    TokenStore(const TokenStore&) = delete;
    TokenStore& operator=(const TokenStore&) = delete;

    /// Maps a pack and checks all of it. Formats: i32 and u16 are ids alone; TOYC has a header of four u32 before them:
    /// "TOYC", version 1, the size of the vocabulary, 0. Throws Error{bad_input} naming file and byte offset where the
    /// file is empty, no multiple of the ids' width, made for more than `vocabulary` tokens, or holds an id outside;
    /// also where the ids of a file read as u16 look like the halves of 32-bit ones.
    static std::shared_ptr<const TokenStore> of_pack(std::shared_ptr<const MappedFile> file, DataFormat format,
                                                     int32_t vocabulary);

    void append(const Document& document);

    int64_t size() const { return size_; }
    int32_t id(int64_t at) const {
        if (narrow_ != nullptr) return narrow_[at];
        return wide_[at];
    }
    /// A pack: every token is to be predicted.
    bool predicts_all() const { return file_ != nullptr; }
    bool is_target(int64_t at) const { return predicts_all() || is_target_[static_cast<size_t>(at)]; }

 private:
    std::shared_ptr<const MappedFile> file_;  // null: in memory
    std::vector<int32_t> ids_;
    std::vector<bool> is_target_;
    const uint16_t* narrow_ = nullptr;
    const int32_t* wide_ = nullptr;  // into the file or `ids_`
    int64_t size_ = 0;
};

/// Whether the file begins as a TOYC pack does.
bool is_toyc(const MappedFile& file);

}  // namespace toy
