#include "support/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/error.h"
#include "core/mapped_file.h"
#include "tensor/device.h"

namespace toy::test {

std::string fnv1a(const std::filesystem::path& path) {
    uint64_t hash = 0xcbf29ce484222325u;
    const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
    for (std::byte byte : file->bytes()) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
    return fmt::format("{:016x}", hash);
}

bool has_recorded_kernels() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return ggml_description().find("AVX512 AVX512_VBMI AVX512_VNNI LLAMAFILE") != std::string::npos;
#endif
}

std::vector<std::string> fixture_names(std::string_view folder) {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("{}/tests/fixtures/{}", TOY_SOURCE_DIR, folder))) {
        names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::string test_name(std::string name) {
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

}  // namespace toy::test
