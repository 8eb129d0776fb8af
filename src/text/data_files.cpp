#include "text/data_files.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/error.h"
#include "io/quote.h"
#include "text/utf8.h"

namespace toy {
namespace {

namespace fs = std::filesystem;

DataFormat format_of(const fs::path& path) {
    std::string extension = path.extension().native();
    for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (extension == ".jsonl" || extension == ".ndjson") return DataFormat::jsonl;
    if (extension == ".i32") return DataFormat::i32;
    if (extension == ".u16" || extension == ".bin") return DataFormat::u16;
    if (extension == ".toyc") return DataFormat::toyc;
    if (extension == ".json") {
        bad_input(
            "{}: is JSON, but training data is JSON Lines, an object a line, in a file *.jsonl; to train on its "
            "characters as they are, give the format text",
            path.native());
    }
    return DataFormat::text;
}

DataFile file_of(const fs::path& path, std::string name, DataFormat format) {
    return {path, std::move(name), format == DataFormat::automatic ? format_of(path) : format};
}

/// One entry of a folder, where it is a file.
void take(const fs::directory_entry& entry, const fs::path& folder, DataFormat format, std::vector<DataFile>& files) {
    std::error_code error;
    if (entry.is_directory(error)) {
        if (entry.is_symlink()) {
            bad_input("{}: is a link to a folder, which is not followed; move it or name that folder itself",
                      entry.path().native());
        }
        return;
    }
    if (!entry.is_regular_file(error)) bad_input("{}: is no regular file", entry.path().native());
    files.push_back(file_of(entry.path(), entry.path().lexically_relative(folder).generic_string(), format));
    if (is_pack(files.back().format)) {
        bad_input("{}: is a pack of token ids inside a folder; name the file itself, or give the format of the folder",
                  entry.path().native());
    }
}

std::vector<DataFile> files_below(const fs::path& folder, DataFormat format) {
    if (is_pack(format)) {
        bad_input("{}: is a folder, but the format {} is one file of token ids", folder.native(), name(format));
    }
    std::vector<DataFile> files;
    std::error_code error;
    fs::recursive_directory_iterator at(folder, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) take(*at, folder, format, files);
    if (error) bad_input("{}: cannot be read: {}", folder.native(), error.message());
    if (files.empty()) bad_input("{}: the folder holds no file to train on", folder.native());
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return files;
}

/// The characters of a UTF-8 text: its bytes that continue none.
int64_t characters_of(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

}  // namespace

std::string_view name(DataFormat format) { return k_data_format_names[static_cast<size_t>(format)]; }

DataFormat data_format(std::string_view name) {
    const auto found = std::find(k_data_format_names.begin(), k_data_format_names.end(), name);
    if (found == k_data_format_names.end()) {
        bad_input("there is no data format {}; choose auto, text, jsonl, i32, u16 or toyc", quote(name));
    }
    return static_cast<DataFormat>(found - k_data_format_names.begin());
}

std::vector<DataFile> find_data_files(const fs::path& path, DataFormat format) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) bad_input("{}: there is no such file or folder of training data", path.native());
    if (fs::is_directory(status)) return files_below(path, format);
    return {file_of(path, path.filename().native(), format)};
}

void check_utf8(std::string_view text, const fs::path& path) {
    const size_t valid = utf8::valid_prefix(text);
    if (valid == text.size()) return;
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(valid), '\n');
    bad_input("{}: is not UTF-8: the byte 0x{:02X} at offset {}, in line {}, is part of no character", path.native(),
              static_cast<uint8_t>(text[valid]), valid, line);
}

TextHalves split_text(std::string_view text, double fraction) {
    const int64_t characters = characters_of(text);
    auto left = static_cast<int64_t>(std::floor(static_cast<double>(characters) * (1.0 - fraction)));
    left = std::clamp<int64_t>(left, 0, characters);
    size_t at = 0;
    for (; left > 0; --left) at += utf8::decode(text.substr(at)).length;
    return {text.substr(0, at), text.substr(at)};
}

}  // namespace toy
