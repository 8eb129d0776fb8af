#include "engine/trainable.h"

#include "core/error.h"
#include "tensor/transfer.h"

namespace toy {

bool is_trainable(std::string_view name) { return !name.starts_with("rope_") && name.find("exp_probs_b") == name.npos; }

TrainableModel::TrainableModel(std::shared_ptr<const Model> base, const Device& device, const Choice& is_chosen)
    : base_(std::move(base)), params_(device), decoder_(make_decoder(base_->spec())) {
    std::vector<WeightEntry> table = weight_table(decoder_);
    for (WeightEntry& entry : table) {
        const Tensor from = base_->params.get(entry.name);
        if (!is_trainable(entry.name) || !is_chosen(entry.name)) {
            *entry.slot = from;
            continue;
        }
        const Layout layout = packed_like(from.layout(), DType::F32);
        const Tensor weight = params_.add(entry.name, layout),
                     gradient = params_.add("gradient of " + entry.name, layout);
        *entry.slot = weight;
        entries_.push_back({entry.name, {weight, gradient}, entry.use});
    }
    if (entries_.empty()) bad_input("no weight of the model is chosen to be trained");
    params_.allocate();
    for (const Entry& entry : entries_) {
        const Tensor from = base_->params.get(entry.name);
        const int64_t rows = from.layout().rows();
        constexpr int64_t k_rows_at_once = 256;  // a whole matrix in f32 a second time would be much
        for (int64_t first = 0; first < rows; first += k_rows_at_once) {
            write_f32(entry.tensors.weight, read_rows_f32(from, first, std::min(k_rows_at_once, rows - first)), first);
        }
    }
    share_weights(decoder_);
}

std::vector<Trained> TrainableModel::trained() const {
    std::vector<Trained> all;
    for (const Entry& entry : entries_) all.push_back(entry.tensors);
    return all;
}

}  // namespace toy
