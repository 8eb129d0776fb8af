#include "io/gguf.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/error.h"
#include "io/gguf_header.h"
#include "io/quote.h"

namespace toy {
namespace {

GgufHeader read_header(const MappedFile& file) { return parse_gguf_header(file.bytes(), file.path().native()); }

/// All data has to be inside the file, with the padding after the last tensor: llama.cpp and gguf-py write it, and a
/// file without it is a download that lacks its end.
void check_data(const GgufHeader& header, const MappedFile& file) {
    const uint64_t size = file.bytes().size();
    if (header.tensors.empty() || header.data_begin + header.data_bytes <= size) return;
    const auto beyond = std::find_if(header.tensors.begin(), header.tensors.end() - 1, [&](const GgufTensor& tensor) {
        return header.data_begin + (&tensor + 1)->offset > size;
    });
    bad_input("{}: the data of tensor {} at byte {} ends beyond the file, which has {} bytes of {}; it is incomplete",
              file.path().native(), quote(beyond->name), header.data_begin + beyond->offset, size,
              header.data_begin + header.data_bytes);
}

/// What a part of a split model says of the whole.
struct Split {
    int64_t number;  ///< of this part, from 0
    int64_t count;
    int64_t tensors;  ///< in all parts
};

/// Nothing for a whole model (no split.count, or 0 or 1: `gguf-split --merge` leaves a 0).
std::optional<Split> split_of(const Metadata& metadata) {
    const int64_t count = metadata.find_integer("split.count").value_or(0);
    if (count == 0 || count == 1) return std::nullopt;
    const Split split{metadata.integer("split.no"), count, metadata.integer("split.tensors.count")};
    if (count < 0 || count > 99999) {  // five digits in the name
        bad_input("{}: key 'split.count' is {}; 1 to 99999 are possible", metadata.origin(), count);
    }
    if (split.number < 0 || split.number >= count) {
        bad_input("{}: key 'split.no' is {}, but 'split.count' is {}", metadata.origin(), split.number, count);
    }
    return split;
}

std::string split_suffix(int64_t number, int64_t count) {
    return fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
}

/// The path of another part, from the path of one.
std::filesystem::path part_path(const std::filesystem::path& path, const Split& split, int64_t number) {
    const std::string own = split_suffix(split.number, split.count);
    const std::string& text = path.native();
    if (!text.ends_with(own)) {
        bad_input("{}: is part {} of {} of a split model, so its name has to end in '{}' for the others to be found",
                  text, split.number + 1, split.count, own);
    }
    return text.substr(0, text.size() - own.size()) + split_suffix(number, split.count);
}

std::shared_ptr<const MappedFile> open_part(const std::filesystem::path& path, const Split& split, int64_t number) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
        bad_input("{}: part {} of {} of the split model is missing", path.native(), number + 1, split.count);
    }
    return MappedFile::open(path);
}

void check_part(const Metadata& metadata, const Split& whole, int64_t number) {
    const auto part = split_of(metadata);
    if (!part || part->number != number || part->count != whole.count || part->tensors != whole.tensors) {
        bad_input(
            "{}: does not belong to its split model: split.no, split.count and split.tensors.count are {}, {} and "
            "{}, expected {}, {} and {}",
            metadata.origin(), part ? part->number : 0, part ? part->count : 0, part ? part->tensors : 0, number,
            whole.count, whole.tensors);
    }
}

}  // namespace

void Gguf::append(GgufHeader header, std::shared_ptr<const MappedFile> file) {
    for (GgufTensor& tensor : header.tensors) {
        tensor.part = parts_.size();
        tensor.offset += header.data_begin;
        tensors_.push_back(std::move(tensor));
    }
    if (parts_.empty()) {
        version_ = header.version;
        alignment_ = header.alignment;
        metadata_ = std::move(header.metadata);
    }
    parts_.push_back(std::move(file));
}

void Gguf::build_index() {
    by_name_.resize(tensors_.size());
    std::iota(by_name_.begin(), by_name_.end(), 0U);
    std::sort(by_name_.begin(), by_name_.end(),
              [&](uint32_t a, uint32_t b) { return std::tie(tensors_[a].name, a) < std::tie(tensors_[b].name, b); });
    const auto twice = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                          [&](uint32_t a, uint32_t b) { return tensors_[a].name == tensors_[b].name; });
    if (twice == by_name_.end()) return;
    const GgufTensor& second = tensors_[*(twice + 1)];
    bad_input("{}: the name of tensor number {}, {}, occurs before, as number {}", parts_[second.part]->path().native(),
              *(twice + 1) + 1, quote(second.name), *twice + 1);
}

Gguf Gguf::open_header(const std::filesystem::path& path) {
    Gguf gguf;
    auto file = MappedFile::open(path);
    gguf.append(read_header(*file), file);
    gguf.build_index();
    return gguf;
}

Gguf Gguf::open(const std::filesystem::path& path) {
    const auto named = MappedFile::open(path);
    GgufHeader header = read_header(*named);
    check_data(header, *named);
    Gguf gguf;
    if (const auto split = split_of(header.metadata)) {
        for (int64_t number = 0; number < split->count; ++number) {
            const std::filesystem::path sibling = part_path(path, *split, number);
            const auto file = number == split->number ? named : open_part(sibling, *split, number);
            // NOLINTNEXTLINE(bugprone-use-after-move): one number alone is split->number
            GgufHeader part = number == split->number ? std::move(header) : read_header(*file);
            check_part(part.metadata, *split, number);
            check_data(part, *file);
            gguf.append(std::move(part), file);
        }
        if (static_cast<int64_t>(gguf.tensors_.size()) != split->tensors) {
            bad_input("{}: the {} parts hold {} tensors, but key 'split.tensors.count' says {}", path.native(),
                      split->count, gguf.tensors_.size(), split->tensors);
        }
    } else {
        gguf.append(std::move(header), named);
    }
    gguf.build_index();
    for (GgufTensor& tensor : gguf.tensors_) {
        const auto rows = static_cast<size_t>(tensor.ne[1] * tensor.ne[2] * tensor.ne[3]);
        tensor.bytes =
            gguf.parts_[tensor.part]->bytes().subspan(tensor.offset, row_bytes(tensor.type, tensor.ne[0]) * rows);
    }
    return gguf;
}

const GgufTensor* Gguf::find(std::string_view name) const {
    const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                        [&](uint32_t index, std::string_view n) { return tensors_[index].name < n; });
    return found == by_name_.end() || tensors_[*found].name != name ? nullptr : &tensors_[*found];
}

}  // namespace toy
