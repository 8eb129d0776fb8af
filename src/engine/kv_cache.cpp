#include "engine/kv_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/error.h"
#include "tensor/transfer.h"

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

// Elements that one token leaves in a layer, and one sequence in a recurrent one.
struct Sizes {
    int64_t key = 0, value = 0;
    int64_t conv = 0, scan = 0;
};

Sizes sizes_for(const Spec& spec) {
    const StateSpaceSpec& n = spec.state_space;
    if (spec.is_recurrent()) return {0, 0, n.channels() * (n.kernel - 1), n.inner * n.state};
    if (spec.latent.rank > 0) return {spec.latent.rank + spec.layer.front().rope.dims, 0, 0, 0};
    return {spec.kv_heads * spec.head_size, spec.kv_heads * spec.value_size, 0, 0};
}

void check_type(const Spec& spec, DType type) {
    switch (type) {
        case DType::F32:
        case DType::F16:
        case DType::BF16:
        case DType::Q8_0:
        case DType::Q4_0: break;
        default: bad_input("the cache cannot hold {}: choose f32, f16, bf16, q8_0 or q4_0", name(type));
    }
    if (spec.is_recurrent()) return;  // states are f32
    const Sizes sizes = sizes_for(spec);
    const int64_t key_head = sizes.key / spec.kv_heads;
    const int64_t value_head = spec.latent.rank > 0 ? spec.latent.rank : spec.value_size;
    for (int64_t size : {key_head, value_head}) {
        if (size % block_elements(type) != 0) {
            bad_input("a {} cache needs heads of a multiple of {} elements, this model's have {}", name(type),
                      block_elements(type), size);
        }
    }
}

void check(const Spec& spec, const KvCache::Options& options) {
    if (options.slots < 1 || options.slots > k_most_slots) {
        bad_input("{} sequences at once: choose 1 to {}", options.slots, k_most_slots);
    }
    if (options.context < 1 || options.context > k_longest_context) {
        bad_input("a context of {} tokens: choose 1 to {}", options.context, k_longest_context);
    }
    check_type(spec, options.type);
}

// Copies `bytes` inside a tensor through host memory.
void move_bytes(Tensor tensor, size_t from, size_t to, size_t bytes) {
    std::vector<std::byte> held(bytes);
    read(tensor, held, from);
    write(tensor, held, to);
}

}  // namespace

KvCache::KvCache(const Spec& spec, const Device& device, const Options& options)
    : options_(options), is_recurrent_(spec.is_recurrent()), slot_rows_(rows_for(options)), params_(device) {
    check(spec, options);
    const Sizes sizes = sizes_for(spec);
    const int64_t rows = spare_row(spare_rows());
    const int64_t states = spare_state(options.slots);
    const auto add = [&](std::vector<Tensor>& to, int64_t layer, const char* part, DType type, int64_t n,
                         int64_t size) {
        to.push_back(size == 0 ? Tensor()
                               : params_.add(fmt::format("cache.{}.{}", layer, part), packed(type, {n, size})));
    };
    for (int64_t i = 0; i < spec.layers; ++i) {
        add(keys_, i, "k", options.type, rows, sizes.key);
        add(values_, i, "v", options.type, rows, sizes.value);
        add(conv_, i, "conv", DType::F32, states, sizes.conv);
        add(scan_, i, "scan", DType::F32, states, sizes.scan);
    }
    params_.allocate();
    taken_.assign(static_cast<size_t>(options.slots), false);
    lengths_.assign(static_cast<size_t>(options.slots), 0);
}

int64_t KvCache::spare_rows() const { return spare_rows_for(options_); }

std::optional<int> KvCache::claim() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    if (free == taken_.end()) return std::nullopt;
    *free = true;
    const auto slot = static_cast<int>(free - taken_.begin());
    truncate(slot, 0);
    return slot;
}

void KvCache::check_cut(int slot, int64_t length) const {
    if (length < 0 || length > this->length(slot)) {
        bad_input("slot {} remembers {} tokens, not {}", slot, this->length(slot), length);
    }
    if (is_recurrent_ && length != 0 && length != this->length(slot)) {
        bad_input("a recurrent state cannot go back: slot {} remembers {} tokens as a whole, not the first {}", slot,
                  this->length(slot), length);
    }
}

void KvCache::check_next(int slot, int64_t position) const {
    if (is_recurrent_ && position != length(slot)) {
        bad_input("a recurrent state cannot go back: slot {} remembers {} tokens, the next is not at {}", slot,
                  length(slot), position);
    }
}

void KvCache::truncate(int slot, int64_t length) {
    check_cut(slot, length);
    if (is_recurrent_ && length == 0) {
        for (const std::vector<Tensor>* states : {&conv_, &scan_}) {
            for (Tensor state : *states) {
                const std::vector<float> zeros(static_cast<size_t>(state.dim(1)), 0.0f);
                write_f32(state, zeros, slot);
            }
        }
    }
    set_length(slot, length);
}

void KvCache::copy_rows(int64_t from, int64_t to, int64_t count) {
    for (const std::vector<Tensor>* rows : {&keys_, &values_}) {
        for (Tensor tensor : *rows) {
            if (!tensor || count == 0) continue;
            const size_t row = row_bytes(tensor.dtype(), tensor.dim(1));
            move_bytes(tensor, static_cast<size_t>(from) * row, static_cast<size_t>(to) * row,
                       static_cast<size_t>(count) * row);
        }
    }
}

void KvCache::move_rows(int slot, int64_t from, int64_t to, int64_t count) {
    copy_rows(row(slot, from), row(slot, to), count);
}

void KvCache::copy(int from, int to, int64_t length) {
    check_cut(from, length);
    copy_rows(row(from, 0), row(to, 0), length);
    if (is_recurrent_ && length == 0) return truncate(to, 0);
    for (const std::vector<Tensor>* states : {&conv_, &scan_}) {
        for (Tensor tensor : *states) {
            if (!tensor) continue;
            const size_t row = row_bytes(tensor.dtype(), tensor.dim(1));
            move_bytes(tensor, static_cast<size_t>(from) * row, static_cast<size_t>(to) * row, row);
        }
    }
    set_length(to, length);
}

size_t KvCache::bytes_for(const Spec& spec, const Options& options) {
    check(spec, options);
    const Sizes sizes = sizes_for(spec);
    const auto rows = static_cast<size_t>(rows_for(options) * options.slots + spare_rows_for(options));
    const auto states = static_cast<size_t>(2 * options.slots);
    const size_t row = row_bytes(options.type, sizes.key) + row_bytes(options.type, sizes.value);
    const size_t state = row_bytes(DType::F32, sizes.conv + sizes.scan);
    return static_cast<size_t>(spec.layers) * (rows * row + states * state);
}

}  // namespace toy
