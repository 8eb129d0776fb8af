#pragma once
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace toy {

/// What a file of training data is. docs/data.md describes each with an example.
enum class DataFormat {
    automatic,  ///< told by the file's extension
    text,       ///< UTF-8, one document
    jsonl,      ///< a JSON object a line
    i32,        ///< token ids, 4 bytes each, little-endian, no header
    u16,        ///< token ids, 2 bytes each, little-endian, no header: nanoGPT's
    toyc,       ///< i32 behind a header of 16 bytes: the older toy's
};
/// The names that flags take, in the order of the enumeration.
constexpr std::array<std::string_view, 6> k_data_format_names = {"auto", "text", "jsonl", "i32", "u16", "toyc"};
std::string_view name(DataFormat format);
/// Throws Error{bad_input} for a name that is none of these.
DataFormat data_format(std::string_view name);
constexpr bool is_pack(DataFormat format) {
    return format == DataFormat::i32 || format == DataFormat::u16 || format == DataFormat::toyc;
}

/// One file of a corpus.
struct DataFile {
    std::filesystem::path path;
    std::string name;   ///< below the corpus's folder, with '/' between; the file's own name where the corpus is a file
    DataFormat format;  ///< never `automatic`
};

/// The files of a corpus: the file itself, or every regular file below the folder, sorted by the bytes of their names.
/// With `automatic`, the extension tells what each is: .jsonl and .ndjson, .i32, .u16 and .bin, .toyc; anything else is
/// text. Throws Error{bad_input} where the path is missing or holds no file, and for what cannot be meant: a pack
/// inside a folder, .json without an explicit format, a link to a folder, a device.
std::vector<DataFile> find_data_files(const std::filesystem::path& path, DataFormat format);

/// Throws Error{bad_input} with the offset and the line of the first byte that is no UTF-8.
void check_utf8(std::string_view text, const std::filesystem::path& path);

/// The first part of a text and the rest, cut after floor(characters * (1 - fraction)) characters, as nanoGPT cuts a
/// single text into training and validation (90 to 10 for a fraction of 0.1). `text` must be UTF-8.
struct TextHalves {
    std::string_view train, validation;
};
TextHalves split_text(std::string_view text, double fraction);

}  // namespace toy
