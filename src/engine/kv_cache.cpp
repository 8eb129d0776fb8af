#include "engine/kv_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace toy {
namespace {

// Decode graphs are keyed by the cache length rounded to this; flash attention is fastest on such lengths.
constexpr int64_t k_row_multiple = 256;
constexpr int k_most_slots = 256;
constexpr int64_t k_longest_context = int64_t{1} << 30;

// Steps round token counts up by at most 63.
int64_t spare_rows_for(const KvCache::Options& options) { return std::max<int64_t>(64, options.slots); }

int64_t rows_for(const KvCache::Options& options) {
    return (options.context + k_row_multiple - 1) / k_row_multiple * k_row_multiple;
}

void check(const Spec& spec, const KvCache::Options& options) {
    if (options.slots < 1 || options.slots > k_most_slots) {
        bad_input("{} sequences at once: choose 1 to {}", options.slots, k_most_slots);
    }
    if (options.context < 1 || options.context > k_longest_context) {
        bad_input("a context of {} tokens: choose 1 to {}", options.context, k_longest_context);
    }
    const DType type = options.type;
    if (type != DType::F32 && type != DType::F16 && type != DType::BF16 && type != DType::Q8_0) {
        bad_input("the cache cannot hold {}: choose f32, f16, bf16 or q8_0", name(type));
    }
    for (int64_t size : {spec.head_size, spec.value_size}) {
        if (size % block_elements(type) != 0) {
            bad_input("a {} cache needs heads of a multiple of {} elements, this model's have {}", name(type),
                      block_elements(type), size);
        }
    }
}

}  // namespace

KvCache::KvCache(const Spec& spec, const Device& device, const Options& options)
    : options_(options), slot_rows_(rows_for(options)), params_(device) {
    check(spec, options);
    const int64_t rows = spare_row(spare_rows());
    for (int64_t i = 0; i < spec.layers; ++i) {
        keys_.push_back(
            params_.add(fmt::format("cache.{}.k", i), packed(options.type, {rows, spec.kv_heads * spec.head_size})));
        values_.push_back(
            params_.add(fmt::format("cache.{}.v", i), packed(options.type, {rows, spec.kv_heads * spec.value_size})));
    }
    params_.allocate();
    taken_.assign(static_cast<size_t>(options.slots), false);
}

int64_t KvCache::spare_rows() const { return spare_rows_for(options_); }

std::optional<int> KvCache::claim() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    if (free == taken_.end()) return std::nullopt;
    *free = true;
    return static_cast<int>(free - taken_.begin());
}

size_t KvCache::bytes_for(const Spec& spec, const Options& options) {
    check(spec, options);
    const auto rows = static_cast<size_t>(rows_for(options) * options.slots + spare_rows_for(options));
    const size_t row = row_bytes(options.type, spec.kv_heads * spec.head_size) +
                       row_bytes(options.type, spec.kv_heads * spec.value_size);
    return static_cast<size_t>(spec.layers) * rows * row;
}

}  // namespace toy
