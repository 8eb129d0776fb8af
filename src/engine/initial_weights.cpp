#include "engine/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/error.h"
#include "core/random.h"

namespace toy {
namespace {

// FNV-1a: which numbers a weight draws follows from its name.
uint64_t hash_of(std::string_view name) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

class Draw {
 public:
    Draw(int64_t count, Random random) : values_(static_cast<size_t>(count)), random_(random) {}

    std::vector<float> normal(double deviation) {
        for (float& v : values_) v = static_cast<float>(random_.normal() * deviation);
        return std::move(values_);
    }
    std::vector<float> uniform(double low, double high) {
        for (float& v : values_) v = static_cast<float>(low + (high - low) * random_.uniform());
        return std::move(values_);
    }
    std::vector<float> constant(float value) {
        std::fill(values_.begin(), values_.end(), value);
        return std::move(values_);
    }
    // Biases of steps: softplus of them is spread evenly in its logarithm from 0.001 to 0.1.
    std::vector<float> steps() {
        for (float& v : values_) {
            const double step = std::exp(std::log(1e-3) + random_.uniform() * (std::log(1e-1) - std::log(1e-3)));
            v = static_cast<float>(step + std::log(-std::expm1(-step)));  // the inverse of softplus
        }
        return std::move(values_);
    }
    // −1, −2, …, −N in each row of N.
    std::vector<float> descending(int64_t n) {
        for (size_t i = 0; i < values_.size(); ++i) values_[i] = -static_cast<float>(static_cast<int64_t>(i) % n + 1);
        return std::move(values_);
    }

 private:
    std::vector<float> values_;
    Random random_;
};

bool ends_in_residual(std::string_view part) {
    return part == "attn_output.weight" || part == "ssm_out.weight" || part == "ffn_down.weight" ||
           part == "ffn_down_exps.weight" || part == "ffn_down_shexp.weight";
}

// Weights of a state space, "ssm_" left out of their names.
std::vector<float> state_space_weight(std::string_view part, const WeightEntry& entry, const Spec& spec, Draw draw) {
    const StateSpaceSpec& n = spec.state_space;
    if (part == "a") return n.version == 1 ? draw.descending(n.state) : draw.uniform(-16.0, -1.0);
    if (part == "d" || part == "norm.weight") return draw.constant(1.0f);
    if (part == "dt.bias") return draw.steps();
    if (part == "dt.weight") {
        const double bound = 1.0 / std::sqrt(static_cast<double>(n.dt_rank));
        return draw.uniform(-bound, bound);
    }
    if (part.starts_with("conv1d")) {
        const double bound = 1.0 / std::sqrt(static_cast<double>(n.kernel));
        return draw.uniform(-bound, bound);
    }
    if (part != "in.weight" && part != "x.weight") bad_input("no start is known for the weight '{}'", entry.name);
    return draw.normal(0.02);
}

}  // namespace

std::vector<float> initial_weight(const WeightEntry& entry, const Spec& spec, uint64_t seed) {
    int64_t count = 1;
    for (int64_t n : entry.shape) count *= n;
    Draw draw(count, Random(mix64(seed) ^ hash_of(entry.name)));
    constexpr double k_deviation = 0.02;
    std::string_view part = entry.name;
    if (part.starts_with("blk.")) part = part.substr(part.find('.', 4) + 1);
    if (ends_in_residual(part)) return draw.normal(k_deviation / std::sqrt(2.0 * static_cast<double>(spec.layers)));
    if (part.starts_with("ssm_")) return state_space_weight(part.substr(4), entry, spec, std::move(draw));
    if (part.find("norm") != part.npos) return draw.constant(part.ends_with(".bias") ? 0.0f : 1.0f);
    if (part.starts_with("rope_")) return draw.constant(1.0f);
    if (entry.use == WeightEntry::Use::raw) return draw.constant(0.0f);  // biases
    return draw.normal(k_deviation);
}

}  // namespace toy
