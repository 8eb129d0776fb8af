#include "tensor/draw.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "tensor/transfer.h"

namespace toy::test {
namespace {

Layout packed_dims(DType type, const std::vector<int64_t>& dims) {
    std::array<int64_t, 4> ne{1, 1, 1, 1};
    std::copy(dims.rbegin(), dims.rend(), ne.begin());
    return packed_ne(type, static_cast<int>(dims.size()), ne);
}

Tensor permute_by(Tensor x, const std::vector<int>& order) {
    switch (order.size()) {
        case 1: return permute(x, {order[0]});
        case 2: return permute(x, {order[0], order[1]});
        case 3: return permute(x, {order[0], order[1], order[2]});
        default: return permute(x, {order[0], order[1], order[2], order[3]});
    }
}

}  // namespace

Draw::Draw(uint64_t seed, bool is_loud) : params(Device::cpu()), random_(seed), is_loud_(is_loud), wildness_(0) {
    constexpr int wildness[] = {0, 2, 5, 10};
    wildness_ = wildness[below(4)];
}

void Draw::say(const std::string& piece) {
    text += piece;
    if (is_loud_) std::cerr << piece << std::flush;
}

int64_t Draw::size() {
    constexpr int64_t sizes[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64, 65};
    return sizes[below(chance(70) ? 10 : std::size(sizes))];
}

int64_t Draw::width(DType type) {
    const int64_t block = block_elements(type);
    return block == 1 ? (chance(30) ? 2 * size() : size()) : block * (1 + below(3));
}

float Draw::number(float from, float to) {
    if (is_wild()) {
        constexpr float odd[] = {0.0f,
                                 -1.0f,
                                 1e30f,
                                 -1e30f,
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN(),
                                 std::numeric_limits<float>::denorm_min()};
        return odd[below(std::size(odd))];
    }
    return from + (to - from) * static_cast<float>(below(1001)) / 1000.0f;
}

int Draw::integer(int from, int to) {
    if (is_wild()) {
        constexpr int odd[] = {
            -1, 0, 1, 2, 1 << 20, 1 << 30, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
        return odd[below(std::size(odd))];
    }
    return from + static_cast<int>(below(int64_t{to} - from + 1));
}

DType Draw::any_type() { return all_dtypes()[static_cast<size_t>(below(static_cast<int64_t>(all_dtypes().size())))]; }

DType Draw::one_of(std::initializer_list<DType> types) {
    return *(types.begin() + below(static_cast<int64_t>(types.size())));
}

int64_t Draw::mutated(int64_t n) {
    if (!is_wild()) return n;
    const int64_t choices[] = {0,
                               1,
                               n + 1,
                               n - 1,
                               2 * n,
                               n / 2,
                               3,
                               256,
                               -1,
                               int64_t{1} << 31,
                               int64_t{1} << 62,
                               std::numeric_limits<int64_t>::max(),
                               std::numeric_limits<int64_t>::min()};
    return choices[below(chance(90) ? 8 : static_cast<int64_t>(std::size(choices)))];
}

Tensor Draw::tensor(DType type, std::vector<int64_t> dims) {
    if (is_wild() && chance(10)) {
        say("absent; ");
        return {};
    }
    if (is_wild()) type = chance(50) ? one_of({DType::F32, DType::F16, DType::I32, DType::BF16}) : any_type();
    for (int64_t& n : dims) n = mutated(n);
    if (is_wild()) dims.insert(dims.begin() + below(static_cast<int64_t>(dims.size()) + 1), chance(60) ? 1 : size());
    while (dims.size() > 4) dims.pop_back();
    Tensor x = laid_out(type, dims, 0);
    if (x.dtype() == DType::F32 && chance(10)) {  // in the arena, where later results may reuse its memory
        say("times 2; ");
        x = contiguous(x) * 2.0f;
    }
    say(fmt::format("-> {}; ", x.layout().describe()));
    return x;
}

Tensor Draw::leaf(DType type, const std::vector<int64_t>& dims) {
    const Layout layout = packed_dims(type, dims);
    const std::string name = fmt::format("t{}", leaves_.size());
    const bool is_input = chance(30);
    say(fmt::format("{} {} {}", name, is_input ? "input" : "parameter", layout.describe()));
    leaves_.push_back(is_input ? graph.input(name, layout) : params.add(name, layout));
    if (is_input) return leaves_.back();
    // Each in memory of its own, so that the address sanitizer sees what reads beyond it.
    constexpr size_t most_bytes = size_t{1} << 22;
    is_too_large_ = is_too_large_ || layout.bytes() > most_bytes;
    if (!is_too_large_) params.allocate();
    return graph.leaf(leaves_.back());
}

Tensor Draw::laid_out(DType type, std::vector<int64_t> dims, int depth) {
    const int64_t choice = depth > 1 ? 0 : below(100);
    if (choice < 60) return leaf(type, dims);
    if (choice < 76) return sliced(type, std::move(dims), depth + 1);
    if (choice < 92) return permuted(type, dims, depth + 1);
    return strided(type, dims);
}

Tensor Draw::sliced(DType type, std::vector<int64_t> dims, int depth) {
    const auto axis = static_cast<size_t>(below(static_cast<int64_t>(dims.size())));
    const int64_t length = dims[axis];
    const int64_t step = axis + 1 == dims.size() ? block_elements(type) : 1;
    const int64_t before = step * below(3);
    if (length < 0 || length > 1 << 20) return leaf(type, dims);
    dims[axis] += before + step * below(3);
    const Tensor whole = laid_out(type, dims, depth);
    say(fmt::format(" sliced along {} from {}", axis, before));
    return slice(whole, static_cast<int>(axis), before, length);
}

Tensor Draw::permuted(DType type, const std::vector<int64_t>& dims, int depth) {
    std::vector<int> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    // The last axis of blocks stays last, or nothing would be accepted.
    const bool keeps_last = block_elements(type) > 1 || chance(70);
    std::shuffle(order.begin(), order.end() - (keeps_last ? 1 : 0), random_);
    std::vector<int64_t> stored(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) stored[static_cast<size_t>(order[i])] = dims[i];
    const Tensor whole = laid_out(type, stored, depth);
    say(fmt::format(" permuted {}", fmt::join(order, ",")));
    return permute_by(whole, order);
}

Tensor Draw::strided(DType type, const std::vector<int64_t>& dims) {
    const Layout plain = packed_dims(type, dims);
    if (plain.bytes() > size_t{1} << 24) return leaf(type, dims);
    const Tensor room =
        leaf(type, {static_cast<int64_t>(3 * plain.bytes() / block_bytes(type) + 8) * block_elements(type)});
    const auto block = static_cast<int64_t>(block_bytes(type));
    std::vector<int64_t> ne(dims.rbegin(), dims.rend());
    std::vector<size_t> strides;
    for (size_t i = 1; i < ne.size(); ++i) {
        const auto stride = static_cast<int64_t>(plain.nb[i]) + block * (below(4) - (chance(20) ? 2 : 0));
        strides.push_back(static_cast<size_t>(is_wild() ? below(64) : stride));
    }
    const auto offset = static_cast<size_t>(is_wild() ? below(64) : block * below(4));
    say(fmt::format(" viewed as {} (ggml) with strides {} from {}", fmt::join(ne, ","), fmt::join(strides, ","),
                    offset));
    return byte_view(room, ne, strides, offset);
}

std::vector<std::byte> Draw::values(const Layout& layout) {
    std::vector<std::byte> bytes(layout.bytes());
#ifdef NDEBUG
    const bool any_bits = chance(25);  // infinities and NaN, which ggml's debug assertions do not take
#else
    const bool any_bits = false;
#endif
    // Types whose quantisation first builds tables, for seconds, get any bits too.
    const std::string_view type = name(layout.type).substr(0, 3);
    const bool writable = converts_to_f32(layout.type) && type != "iq1" && type != "iq2" && type != "iq3" &&
                          layout.type != DType::Q8_1 && layout.type != DType::Q8_K;
    if (any_bits || !writable || (is_quantized(layout.type) && chance(80))) {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
        return bytes;
    }
    std::vector<float> floats(static_cast<size_t>(layout.elements()));
    for (float& value : floats) value = static_cast<float>(below(2001) - 1000) / 500.0f;
    const std::vector<uint8_t> converted = from_f32(layout.type, floats, layout.ne[0]);
    std::memcpy(bytes.data(), converted.data(), bytes.size());
    return bytes;
}

bool Draw::fill_indices(Tensor leaf, int64_t limit) {
    const auto write_all = [&](auto zero, int64_t wrong) {
        std::vector<decltype(zero)> indices(static_cast<size_t>(leaf.layout().elements()));
        for (auto& index : indices) index = static_cast<decltype(zero)>(below(limit));
        indices[static_cast<size_t>(below(static_cast<int64_t>(indices.size())))] += static_cast<decltype(zero)>(wrong);
        write(leaf, std::span<const decltype(zero)>(indices));
    };
    const bool is_64 = leaf.dtype() == DType::I64;
    try {
        const int64_t wrong = chance(50) ? limit : -limit;
        is_64 ? write_all(int64_t{}, wrong) : write_all(int32_t{}, wrong);
        return false;
    } catch (const Error&) {
    }
    is_64 ? write_all(int64_t{}, 0) : write_all(int32_t{}, 0);
    return true;
}

bool Draw::fill() {
    for (const Tensor& leaf : leaves_) {
        if (leaf.layout().elements() == 0) continue;
        const int64_t limit = graph.node(leaf).index_limit;
        if (limit > 0) {
            if (!fill_indices(leaf, limit)) return false;
        } else {
            write(leaf, values(leaf.layout()));
        }
    }
    return true;
}

double Draw::bytes() const {
    double total = 0;
    for (const Node& node : graph.nodes()) total += static_cast<double>(node.layout.bytes());
    return total;
}

}  // namespace toy::test
