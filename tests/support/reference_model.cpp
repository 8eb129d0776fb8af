#include "support/reference_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/random_model.h"

namespace toy::test {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

class Reference {
 public:
    explicit Reference(std::string_view name) : name_(name), spec_(recipe(name).spec) {}

    std::vector<double> logits(std::span<const int32_t> tokens) const {
        const std::vector<float> table = weight("token_embd.weight", {spec_.vocabulary, spec_.width});
        Rows x;
        for (int32_t id : tokens) {
            const auto first = table.begin() + id * spec_.width;
            x.emplace_back(first, first + spec_.width);
        }
        for (int64_t layer = 0; layer < spec_.layers; ++layer) {
            const std::string blk = fmt::format("blk.{}.", layer);
            add(x, attention(normed(x, blk + "attn_norm.weight"), blk));
            add(x, feed_forward(normed(x, blk + "ffn_norm.weight"), blk));
        }
        x = normed(x, "output_norm.weight");
        const Rows y = linear(x, spec_.is_tied ? "token_embd" : "output", spec_.vocabulary, false);
        std::vector<double> all;
        for (const Row& row : y) all.insert(all.end(), row.begin(), row.end());
        return all;
    }

 private:
    std::vector<float> weight(const std::string& tensor, const std::vector<int64_t>& shape) const {
        return random_weight(name_, tensor, shape);
    }

    static void add(Rows& x, const Rows& y) {
        for (size_t t = 0; t < x.size(); ++t) {
            for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
        }
    }

    Rows normed(const Rows& x, const std::string& tensor) const {
        const std::vector<float> w = weight(tensor, {spec_.width});
        Rows y = x;
        for (Row& row : y) {
            double squares = 0;
            for (double value : row) squares += value * value;
            const double scale = 1.0 / std::sqrt(squares / static_cast<double>(row.size()) + spec_.eps);
            for (size_t i = 0; i < row.size(); ++i) row[i] *= scale * w[i];
        }
        return y;
    }

    Rows linear(const Rows& x, const std::string& map, int64_t outputs, bool has_bias) const {
        const auto inputs = static_cast<int64_t>(x.front().size());
        const std::vector<float> w = weight(map + ".weight", {outputs, inputs});
        const std::vector<float> bias = has_bias ? weight(map + ".bias", {outputs}) : std::vector<float>();
        Rows y;
        for (const Row& row : x) {
            Row result;
            for (int64_t o = 0; o < outputs; ++o) {
                double sum = has_bias ? bias[static_cast<size_t>(o)] : 0.0;
                for (int64_t i = 0; i < inputs; ++i)
                    sum += row[static_cast<size_t>(i)] * w[static_cast<size_t>(o * inputs + i)];
                result.push_back(sum);
            }
            y.push_back(std::move(result));
        }
        return y;
    }

    // Pairs of neighbours turn by position · base^(−2i/d) / factor (arXiv 2104.09864).
    void rotate(Rows& x, int64_t heads) const {
        const std::vector<float> factors = spec_.has_rope_factors
                                               ? weight("rope_freqs.weight", {spec_.layer.front().rope.dims / 2})
                                               : std::vector<float>();
        for (size_t t = 0; t < x.size(); ++t) {
            for (int64_t h = 0; h < heads; ++h) {
                for (int64_t i = 0; i < spec_.layer.front().rope.dims / 2; ++i) {
                    const double exponent =
                        -2.0 * static_cast<double>(i) / static_cast<double>(spec_.layer.front().rope.dims);
                    double angle =
                        static_cast<double>(t) * std::pow(static_cast<double>(spec_.layer.front().rope.base), exponent);
                    if (!factors.empty()) angle /= factors[static_cast<size_t>(i)];
                    double& a = x[t][static_cast<size_t>(h * spec_.head_size + 2 * i)];
                    double& b = x[t][static_cast<size_t>(h * spec_.head_size + 2 * i + 1)];
                    const double turned = a * std::cos(angle) - b * std::sin(angle);
                    b = a * std::sin(angle) + b * std::cos(angle);
                    a = turned;
                }
            }
        }
    }

    Rows attention(const Rows& x, const std::string& blk) const {
        const Spec& s = spec_;
        Rows q = linear(x, blk + "attn_q", s.heads * s.head_size, s.has_qkv_bias);
        Rows k = linear(x, blk + "attn_k", s.kv_heads * s.head_size, s.has_qkv_bias);
        const Rows v = linear(x, blk + "attn_v", s.kv_heads * s.value_size, s.has_qkv_bias);
        rotate(q, s.heads);
        rotate(k, s.kv_heads);
        Rows y(x.size(), Row(static_cast<size_t>(s.heads * s.value_size), 0.0));
        for (size_t t = 0; t < x.size(); ++t) {
            // A window of W sees W tokens, the present one included.
            const size_t first = s.layer.front().window > 0 && static_cast<int64_t>(t) >= s.layer.front().window
                                     ? t + 1 - static_cast<size_t>(s.layer.front().window)
                                     : 0;
            for (int64_t h = 0; h < s.heads; ++h) attend(q, k, v, t, first, h, y[t]);
        }
        return linear(y, blk + "attn_output", s.width, s.has_output_bias);
    }

    void attend(const Rows& q, const Rows& k, const Rows& v, size_t t, size_t first, int64_t h, Row& y) const {
        const int64_t d = spec_.head_size;
        const int64_t shared = h / (spec_.heads / spec_.kv_heads);
        Row p;
        for (size_t j = first; j <= t; ++j) {
            double dot = 0;
            for (int64_t i = 0; i < d; ++i)
                dot += q[t][static_cast<size_t>(h * d + i)] * k[j][static_cast<size_t>(shared * d + i)];
            p.push_back(dot / std::sqrt(static_cast<double>(d)));
        }
        const double most = *std::max_element(p.begin(), p.end());
        double total = 0;
        for (double& value : p) total += value = std::exp(value - most);
        for (size_t j = first; j <= t; ++j) {
            for (int64_t i = 0; i < d; ++i) {
                y[static_cast<size_t>(h * d + i)] += p[j - first] / total * v[j][static_cast<size_t>(shared * d + i)];
            }
        }
    }

    Rows feed_forward(const Rows& x, const std::string& blk) const {
        Rows gate = linear(x, blk + "ffn_gate", spec_.ffn_width, spec_.has_ffn_bias);
        const Rows up = linear(x, blk + "ffn_up", spec_.ffn_width, spec_.has_ffn_bias);
        for (size_t t = 0; t < x.size(); ++t) {
            for (size_t i = 0; i < up[t].size(); ++i) gate[t][i] *= up[t][i] / (1.0 + std::exp(-gate[t][i]));
        }
        return linear(gate, blk + "ffn_down", spec_.width, spec_.has_ffn_bias);
    }

    std::string name_;
    Spec spec_;
};

}  // namespace

std::vector<double> reference_logits(std::string_view recipe, std::span<const int32_t> tokens) {
    return Reference(recipe).logits(tokens);
}

}  // namespace toy::test
