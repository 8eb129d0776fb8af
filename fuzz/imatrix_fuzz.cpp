// Reads arbitrary bytes as an importance matrix: it is refused with one sentence, or all its values are finite and none
// is negative.
//
//   imatrix_fuzz CORPUS
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "io/imatrix.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const int descriptor = ::memfd_create("fuzz", 0);
    if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size))
        std::abort();
    try {
        const toy::ImportanceMatrix matrix = toy::read_imatrix("/proc/self/fd/" + std::to_string(descriptor));
        for (const auto& [name, values] : matrix.weights) {
            for (const float value : values) {
                if (!std::isfinite(value) || value < 0.0f) std::abort();
            }
        }
    } catch (const toy::Error& error) {
        if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
    }
    return 0;
}
