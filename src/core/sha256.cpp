#include "core/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error.h"

namespace toy {

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
    if (state_->context == nullptr || EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
        failure("libcrypto offers no SHA-256");
    }
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
    if (EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1) failure("libcrypto cannot compute SHA-256");
}

std::string Sha256::hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum;
    unsigned length = 0;
    if (EVP_DigestFinal_ex(state_->context, sum.data(), &length) != 1) failure("libcrypto cannot compute SHA-256");
    std::string text;
    for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", sum[i]);
    return text;
}

std::string sha256_hex(std::string_view text) {
    Sha256 sum;
    sum.update(text);
    return sum.hex();
}

FileSum sum_of_file(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) bad_input("{}: cannot be opened: {}", path.native(), std::strerror(errno));
    Sha256 sum;
    FileSum file;
    std::vector<std::byte> buffer(size_t{1} << 20);
    ssize_t count = 0;
    while ((count = ::read(descriptor, buffer.data(), buffer.size())) != 0) {
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        sum.update(std::span(buffer).first(static_cast<size_t>(count)));
        file.size += static_cast<uint64_t>(count);
    }
    const int cause = errno;
    ::close(descriptor);
    if (count < 0) bad_input("{}: cannot be read: {}", path.native(), std::strerror(cause));
    file.sha256 = sum.hex();
    return file;
}

}  // namespace toy
