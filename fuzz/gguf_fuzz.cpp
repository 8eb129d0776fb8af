// Feeds arbitrary bytes to Gguf::open as a file. A file that loads must be usable as a whole: every tensor has the
// bytes of its shape, all of them are read, and every name finds its tensor.
//
//   fuzz/make_gguf_seeds.py SEEDS && gguf_fuzz -dict=fuzz/gguf.dict CORPUS SEEDS tests/io/fixtures
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "io/gguf.h"

namespace {

/// A file in memory, opened again by its path, as any file is.
std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

void use(const toy::Gguf& gguf) {
    unsigned sum = 0;
    for (const toy::GgufTensor& tensor : gguf.tensors()) {
        for (const std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
        if (gguf.find(tensor.name) != &tensor) std::abort();
        if (static_cast<int64_t>(tensor.bytes.size()) * toy::block_elements(tensor.type) !=
            tensor.elements() * static_cast<int64_t>(toy::block_bytes(tensor.type))) {
            std::abort();
        }
    }
    asm volatile("" : : "r"(sum));  // the reads must not be optimised away
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const int descriptor = ::memfd_create("fuzz", 0);
    if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size))
        std::abort();
    try {
        use(toy::Gguf::open(path_of(descriptor)));
    } catch (const toy::Error& error) {
        if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
    }
    return 0;
}
