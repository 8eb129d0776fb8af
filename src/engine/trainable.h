#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/training_graph.h"
#include "models/model.h"
#include "tensor/params.h"

namespace toy {

/// Low-rank adapters (LoRA, arXiv 2106.09685) of a model's linear maps.
struct AdapterOptions {
    int64_t rank = 8;
    float alpha = 16.0f;              ///< the addition is scaled by alpha/rank,
    bool is_rank_stabilised = false;  ///< or by alpha/√rank (rsLoRA, arXiv 2312.03732)
    uint64_t seed = 0;                ///< of A, uniform within ±1/√K; B is 0 at first, so that nothing changes

    float scale() const;
};

/// A model of which some tensors are trained: those are f32 and its own, each with a sum for its gradient; all others
/// are the base's, mapped and of any type.
class TrainableModel {
 public:
    struct Entry {
        std::string name;
        Trained tensors;
        WeightEntry::Use use;
    };
    /// Says of a weight's name whether it is trained, or has an adapter.
    using Choice = std::function<bool(std::string_view)>;

    /// Copies the chosen weights of `base`. Throws Error{bad_input} where the choice is empty.
    TrainableModel(std::shared_ptr<const Model> base, const Device& device, const Choice& is_chosen);
    /// Leaves the base as it is and trains adapters of the chosen linear maps: entries "blk.0.attn_q.weight.lora_a" and
    /// "….lora_b". Throws Error{bad_input} where none is chosen, or the rank is not in 1..the smaller side of a map.
    TrainableModel(std::shared_ptr<const Model> base, const Device& device, const Choice& is_chosen,
                   const AdapterOptions& adapters);
    /// A model of that architecture from scratch (initial_weight); all that can be trained is.
    TrainableModel(const Spec& spec, const Device& device, uint64_t seed);

    const Decoder& decoder() const { return decoder_; }
    const std::vector<Entry>& entries() const { return entries_; }
    std::vector<Trained> trained() const;
    const Params& params() const { return params_; }

 private:
    Tensor add(const std::string& name, const Layout& layout, WeightEntry::Use use);
    void add_adapter(const WeightEntry& entry, const AdapterOptions& options);
    void copy_weights();
    void fill_adapters(uint64_t seed);

    std::shared_ptr<const Model> base_;  // or null
    Params params_;
    Decoder decoder_;
    std::vector<Entry> entries_;
};

/// Whether a weight can be trained at all: not the factors of rope, nor the bias that only chooses experts.
bool is_trainable(std::string_view name);

}  // namespace toy
