// Feeds arbitrary bytes to Gguf::open as a file. A file that loads must be usable as a whole: every tensor's bytes are
// read, every name is found, and what the writer makes of it loads again.
//
//   gguf_fuzz CORPUS_FOLDER                         (gguf_fuzz_seeds FOLDER writes a first corpus)
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
    static volatile unsigned sink;
    sink = sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const int descriptor = ::memfd_create("fuzz", 0);
    if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    for (const auto open : {toy::Gguf::open, toy::Gguf::open_header}) {
        try {
            const toy::Gguf gguf = open(path_of(descriptor));
            if (open == toy::Gguf::open) use(gguf);
        } catch (const toy::Error& error) {
            if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
        }
    }
    return 0;
}
