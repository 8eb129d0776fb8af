#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace toy {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
    Sha256();
    ~Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    void update(std::span<const std::byte> bytes);
    void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
    /// The sum of all so far as 64 lower-case hexadecimal digits. Nothing may be added afterwards.
    std::string hex();

 private:
    struct State;
    std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view text);

/// A file's sum and length, read to its end in pieces. Throws Error{bad_input} where it cannot be read.
struct FileSum {
    std::string sha256;
    uint64_t size = 0;
    bool operator==(const FileSum&) const = default;
};
FileSum sum_of_file(const std::filesystem::path& path);

}  // namespace toy
