#include "engine/trainable.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "engine/initial_weights.h"
#include "tensor/transfer.h"

namespace toy {

bool is_trainable(std::string_view name) { return !name.starts_with("rope_") && name.find("exp_probs_b") == name.npos; }

float AdapterOptions::scale() const {
    const auto r = static_cast<float>(rank);
    return alpha / (is_rank_stabilised ? std::sqrt(r) : r);
}

TrainableModel::TrainableModel(std::shared_ptr<const Model> base, const Device& device, const Choice& is_chosen)
    : base_(std::move(base)), params_(device), decoder_(make_decoder(base_->spec())) {
    for (const WeightEntry& entry : weight_table(decoder_)) {
        const Tensor from = base_->params.get(entry.name);
        const bool is_trained = is_trainable(entry.name) && is_chosen(entry.name);
        *entry.slot = is_trained ? add(entry.name, packed_like(from.layout(), DType::F32), entry.use) : from;
    }
    if (entries_.empty()) bad_input("no weight of the model is chosen to be trained");
    params_.allocate();
    copy_weights();
    share_weights(decoder_);
}

TrainableModel::TrainableModel(std::shared_ptr<const Model> base, const Device& device, const Choice& is_chosen,
                               const AdapterOptions& adapters)
    : base_(std::move(base)), params_(device), decoder_(make_decoder(base_->spec())) {
    for (const WeightEntry& entry : weight_table(decoder_)) {
        *entry.slot = base_->params.get(entry.name);
        if (entry.map != nullptr && is_chosen(entry.name)) add_adapter(entry, adapters);
    }
    if (entries_.empty()) bad_input("no linear map of the model is chosen to have an adapter");
    params_.allocate();
    fill_adapters(adapters.seed);
    share_weights(decoder_);
}

namespace {

Layout layout_of(const WeightEntry& entry) {
    std::array<int64_t, 4> ne{1, 1, 1, 1};
    std::copy(entry.shape.rbegin(), entry.shape.rend(), ne.begin());
    return packed_ne(DType::F32, static_cast<int>(entry.shape.size()), ne);
}

}  // namespace

TrainableModel::TrainableModel(const Spec& spec, const Device& device, uint64_t seed)
    : params_(device), decoder_(make_decoder(spec)) {
    const std::vector<WeightEntry> table = weight_table(decoder_);
    for (const WeightEntry& entry : table) {
        *entry.slot = is_trainable(entry.name) ? add(entry.name, layout_of(entry), entry.use)
                                               : params_.add(entry.name, layout_of(entry));
    }
    params_.allocate();
    for (const WeightEntry& entry : table) write(*entry.slot, initial_weight(entry, spec, seed));
    share_weights(decoder_);
}

Tensor TrainableModel::add(const std::string& name, const Layout& layout, WeightEntry::Use use) {
    const Tensor weight = params_.add(name, layout), gradient = params_.add("gradient of " + name, layout);
    entries_.push_back({name, {weight, gradient}, use});
    return weight;
}

void TrainableModel::add_adapter(const WeightEntry& entry, const AdapterOptions& options) {
    const Layout& w = entry.slot->layout();
    const int64_t inputs = w.ne[0], outputs = w.ne[1], experts = w.ne[2];
    if (options.rank < 1 || options.rank > std::min(inputs, outputs)) {
        bad_input("an adapter of '{}' [{}, {}] cannot have rank {}", entry.name, outputs, inputs, options.rank);
    }
    const auto shape = [&](int64_t rows, int64_t columns) {
        return w.rank > 2 ? packed(DType::F32, {experts, rows, columns}) : packed(DType::F32, {rows, columns});
    };
    const Tensor a = add(entry.name + ".lora_a", shape(options.rank, inputs), WeightEntry::Use::matrix);
    const Tensor b = add(entry.name + ".lora_b", shape(outputs, options.rank), WeightEntry::Use::matrix);
    entry.map->adapters.push_back({a, b, options.scale()});
}

void TrainableModel::copy_weights() {
    constexpr int64_t k_rows_at_once = 256;  // a whole matrix in f32 a second time would be much
    for (const Entry& entry : entries_) {
        const Tensor from = base_->params.get(entry.name);
        const int64_t rows = from.layout().rows();
        for (int64_t first = 0; first < rows; first += k_rows_at_once) {
            write_f32(entry.tensors.weight, read_rows_f32(from, first, std::min(k_rows_at_once, rows - first)), first);
        }
    }
}

void TrainableModel::fill_adapters(uint64_t seed) {
    for (size_t i = 0; i < entries_.size(); i += 2) {  // each A is followed by its B, which stays 0
        const Tensor a = entries_[i].tensors.weight;
        const double bound = 1.0 / std::sqrt(static_cast<double>(a.dim(-1)));
        Random random(mix64(seed) + i);
        std::vector<float> values(static_cast<size_t>(a.layout().elements()));
        for (float& value : values) value = static_cast<float>((2.0 * random.uniform() - 1.0) * bound);
        write(a, values);
    }
}

std::vector<Trained> TrainableModel::trained() const {
    std::vector<Trained> all;
    for (const Entry& entry : entries_) all.push_back(entry.tensors);
    return all;
}

}  // namespace toy
