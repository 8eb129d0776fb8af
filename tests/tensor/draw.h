#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/graph.h"
#include "tensor/ops.h"
#include "tensor/params.h"

namespace toy::test {

/// Random operands for one call of an operator: leaves of a graph, and views, permutations and results of operations
/// made from them. Most have the shape and type asked for; the wilder the case, the more depart from it. All of it
/// follows from one seed.
class Draw {
 public:
    /// A loud one prints what it draws as it does so.
    explicit Draw(uint64_t seed, bool is_loud = false);

    /// A tensor of about that type and row-major shape, in any memory layout, sometimes absent.
    Tensor tensor(DType type, std::vector<int64_t> dims);
    Tensor f32(std::vector<int64_t> dims) { return tensor(DType::F32, std::move(dims)); }
    Tensor i32(std::vector<int64_t> dims) { return tensor(DType::I32, std::move(dims)); }

    /// A small length, and one that is a multiple of the type's block.
    int64_t size();
    int64_t width(DType type);
    /// A number for an attribute: mostly from the range, sometimes anything.
    float number(float from, float to);
    int integer(int from, int to);
    DType any_type();
    /// Of the types given.
    DType one_of(std::initializer_list<DType> types);
    bool chance(int percent) { return below(100) < percent; }
    int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
    bool is_wild() { return chance(wildness_); }

    /// Writes random values into all leaves, indices within their limits, and checks that indices outside are refused.
    /// Returns false where such an index was taken.
    bool fill();
    /// Bytes of all leaves and results.
    double bytes() const;

    Params params;
    Graph graph;
    std::string text;  ///< what was drawn, to reproduce it by hand

 private:
    Tensor leaf(DType type, const std::vector<int64_t>& dims);
    Tensor laid_out(DType type, std::vector<int64_t> dims, int depth);
    Tensor sliced(DType type, std::vector<int64_t> dims, int depth);
    Tensor permuted(DType type, const std::vector<int64_t>& dims, int depth);
    Tensor strided(DType type, const std::vector<int64_t>& dims);
    int64_t mutated(int64_t n);
    std::vector<std::byte> values(const Layout& layout);
    bool fill_indices(Tensor leaf, int64_t limit);

    void say(const std::string& piece);

    std::mt19937_64 random_;
    bool is_loud_;
    bool is_too_large_ = false;  // to be computed: only its shape rule is tried
    int wildness_;
    std::vector<Tensor> leaves_;
};

/// An operator and how to call it with random operands; `call` may throw Error.
struct Fuzzed {
    std::string_view name;
    std::function<Tensor(Draw&)> call;
};
const std::vector<Fuzzed>& fuzzed_operators();
/// Those that gradients are made of; among the former.
const std::vector<Fuzzed>& fuzzed_gradients();

}  // namespace toy::test
