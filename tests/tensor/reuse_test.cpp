#include <algorithm>

#include "tensor/computation.h"

// ggml's allocator lets a result take the memory of an operand that nothing reads later; some of its operators are
// wrong then (SOFT_MAX_BACK, ADD_ID). Random graphs are computed twice: with every node an output, so that no memory is
// reused, and with the last alone; the values must be the same.

namespace toy::test {
namespace {

constexpr int64_t k_rows = 4, k_columns = 16;

// A chain of operators over [4, 16] tensors. All that is drawn so far may be used again, the newest most often.
class RandomGraph {
 public:
    RandomGraph(uint64_t seed, bool keeps_all) : random_(seed) {
        for (int i = 0; i < 3; ++i) values_.push_back(c_.random({k_rows, k_columns}));
        weight_ = c_.random({k_columns});
        positions_ = c_.indices({k_rows}, {0, 1, 2, 7});
        ids_ = c_.indices({1, k_rows}, {2, 0, 3, 1});
        rows_ = c_.indices({k_rows}, {3, 1, 0, 2});
        for (int i = 0; i < 12; ++i) values_.push_back(rms_norm(next(), {}, 1e-3f));
        if (!keeps_all) return;
        const auto count = static_cast<int32_t>(c_.graph.nodes().size());
        for (int32_t i = 0; i < count; ++i) c_.graph.output(Tensor(&c_.graph, i));
    }

    std::vector<float> result(int threads) { return c_.result(values_.back(), threads); }

    /// The operators, to find the one that is wrong.
    std::string text() const {
        std::string names;
        for (const Node& node : c_.graph.nodes()) {
            if (node.op != nullptr) names += std::string(node.op->name()) + ' ';
        }
        return names;
    }

 private:
    uint64_t below(uint64_t n) { return random_() % n; }
    Tensor any() {
        const size_t back = below(3) == 0 ? below(values_.size()) : below(3);
        return values_[values_.size() - 1 - back];
    }
    Tensor mixed(Tensor x, Tensor y) {
        switch (below(6)) {
            case 0: return x + y;
            case 1: return x - y;
            case 2: return x * y;
            case 3: return swiglu(x, y);
            case 4: return geglu(x, y);
            default: return matmul(transpose(y), softmax(matmul(x, y)));
        }
    }
    Tensor changed(Tensor x) {
        switch (below(8)) {
            case 0: return silu(x);
            case 1: return toy::tanh(x) * 1.5f;
            case 2: return gelu(x);
            case 3: return layer_norm(x, weight_, {}, 1e-5f);
            case 4: return softmax(x, {}, 0.5f);
            case 5: return softcap(x, 3.0f);
            case 6: return transpose(transpose(x));
            default: return concat(slice(x, 1, 8, 8), slice(x, 1, 0, 8), 1);
        }
    }
    Tensor differentiated(Tensor x, Tensor y) {
        switch (below(4)) {
            case 0: return softmax_back(x, y);
            case 1: return silu_back(x, y);
            case 2: return rms_norm_back(x, y, 1e-2f);
            default: return get_rows_back(x, rows_, y);
        }
    }
    Tensor turned(Tensor x) {
        const Rope how{.order = below(2) == 0 ? Rope::Order::normal : Rope::Order::neox, .dims = 8};
        const Tensor h = heads(x, 2);
        return merge_heads(below(2) == 0 ? rope(h, positions_, how) : rope_back(h, positions_, how));
    }
    Tensor gathered(Tensor x, Tensor y) {
        if (below(3) == 0) return get_rows(x, rows_);
        return reshape(add_id(reshape(x, {1, k_rows, k_columns}), y, ids_), {k_rows, k_columns});
    }
    Tensor next() {
        const Tensor x = any(), y = any();
        switch (below(5)) {
            case 0: return mixed(x, y);
            case 1: return changed(x);
            case 2: return differentiated(x, y);
            case 3: return turned(x);
            default: return gathered(x, y);
        }
    }

    std::mt19937_64 random_;
    Computation c_;
    std::vector<Tensor> values_;
    Tensor weight_, positions_, ids_, rows_;
};

TEST(Reuse, OfMemoryChangesNoValues) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        RandomGraph reusing(seed, false), keeping(seed, true);
        const int threads = 1 + static_cast<int>(seed % 2);
        const std::vector<float> expected = keeping.result(threads), result = reusing.result(threads);
        ASSERT_EQ(result, expected) << "seed " << seed << ": " << reusing.text();
        ASSERT_TRUE(std::all_of(result.begin(), result.end(), [](float x) { return std::isfinite(x); })) << seed;
    }
}

}  // namespace
}  // namespace toy::test
