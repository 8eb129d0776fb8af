#include "text/token_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "core/error.h"

namespace toy {
namespace {

static_assert(std::endian::native == std::endian::little, "packs are little-endian and are used as they lie");

constexpr std::string_view magic = "TOYC";
constexpr size_t header_bytes = 16;

struct Header {
    uint32_t version, vocabulary, reserved;
};

Header read_header(const MappedFile& file) {
    Header header = {};
    if (!is_toyc(file)) bad_input("{}: does not begin with 'TOYC', as a TOYC pack does", file.path().native());
    if (file.bytes().size() < header_bytes) {
        bad_input("{}: ends inside the header of {} bytes", file.path().native(), header_bytes);
    }
    std::memcpy(&header, file.bytes().data() + magic.size(), sizeof header);
    if (header.version != 1) {
        bad_input("{}: is TOYC version {} (byte offset 4); version 1 is read", file.path().native(), header.version);
    }
    if (header.reserved != 0) {
        bad_input("{}: the reserved field at byte offset 12 is {}, expected 0", file.path().native(), header.reserved);
    }
    return header;
}

/// Refuses the first id that is not in [0, vocabulary). The first loop has nothing in it but a comparison.
template <class Id>
void check_ids(std::span<const Id> ids, int32_t vocabulary, size_t first_byte, const MappedFile& file) {
    uint32_t largest = 0;
    for (const Id id : ids) largest = std::max(largest, static_cast<uint32_t>(id));  // a negative one is very large
    if (largest < static_cast<uint32_t>(vocabulary)) return;
    const auto bad = std::find_if(
        ids.begin(), ids.end(), [&](Id id) { return static_cast<uint32_t>(id) >= static_cast<uint32_t>(vocabulary); });
    bad_input("{}: the id {} at byte offset {} is outside the vocabulary of {} tokens", file.path().native(),
              static_cast<int64_t>(*bad), first_byte + static_cast<size_t>(bad - ids.begin()) * sizeof(Id), vocabulary);
}

/// Read as u16, 32-bit ids have their upper half in every second place: training on those would go wrong in silence.
void check_not_wide(std::span<const uint16_t> ids, int32_t vocabulary, const MappedFile& file) {
    if (ids.size() < 4 || ids.size() % 2 != 0) return;
    const int32_t largest_half = (vocabulary - 1) >> 16;
    for (size_t i = 1; i < ids.size(); i += 2) {
        if (ids[i] > largest_half) return;
    }
    bad_input("{}: every second 16-bit id is at most {}, so these seem to be ids of 32 bits: give the format i32",
              file.path().native(), largest_half);
}

template <class Id>
std::span<const Id> ids_behind(const MappedFile& file, size_t offset) {
    const std::span<const std::byte> bytes = file.bytes().subspan(offset);
    if (bytes.empty()) bad_input("{}: holds no token ids", file.path().native());
    if (bytes.size() % sizeof(Id) != 0) {
        bad_input("{}: {} bytes of token ids are no multiple of {} (the last id begins at byte offset {})",
                  file.path().native(), bytes.size(), sizeof(Id), offset + bytes.size() / sizeof(Id) * sizeof(Id));
    }
    return {reinterpret_cast<const Id*>(bytes.data()), bytes.size() / sizeof(Id)};
}

}  // namespace

bool is_toyc(const MappedFile& file) {
    const std::span<const std::byte> bytes = file.bytes();
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::shared_ptr<const TokenStore> TokenStore::of_pack(std::shared_ptr<const MappedFile> file, DataFormat format,
                                                      int32_t vocabulary) {
    auto store = std::make_shared<TokenStore>();
    if (format == DataFormat::u16) {
        const std::span<const uint16_t> ids = ids_behind<uint16_t>(*file, 0);
        check_not_wide(ids, vocabulary, *file);
        check_ids(ids, vocabulary, 0, *file);
        store->narrow_ = ids.data();
        store->size_ = static_cast<int64_t>(ids.size());
    } else {
        size_t offset = 0;
        if (format == DataFormat::toyc) {
            offset = header_bytes;
            const Header header = read_header(*file);
            if (header.vocabulary > static_cast<uint32_t>(vocabulary)) {
                bad_input("{}: was made for a vocabulary of {} tokens (byte offset 8), but the model has {}",
                          file->path().native(), header.vocabulary, vocabulary);
            }
            vocabulary = static_cast<int32_t>(header.vocabulary);
        }
        const std::span<const int32_t> ids = ids_behind<int32_t>(*file, offset);
        check_ids(ids, vocabulary, offset, *file);
        store->wide_ = ids.data();
        store->size_ = static_cast<int64_t>(ids.size());
    }
    store->file_ = std::move(file);
    return store;
}

void TokenStore::append(const Document& document) {
    ids_.insert(ids_.end(), document.ids.begin(), document.ids.end());
    is_target_.insert(is_target_.end(), document.is_target.begin(), document.is_target.end());
    wide_ = ids_.data();
    size_ = static_cast<int64_t>(ids_.size());
}

}  // namespace toy
