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

/// A model of which some weights are trained: those are f32 copies of its own, each with a sum for its gradient; all
/// others are the base's, mapped and of any type.
class TrainableModel {
 public:
    struct Entry {
        std::string name;
        Trained tensors;
        WeightEntry::Use use;
    };
    /// Says of a weight's name whether it is trained.
    using Choice = std::function<bool(std::string_view)>;

    /// Copies the chosen weights of `base`. Throws Error{bad_input} where the choice is empty.
    TrainableModel(std::shared_ptr<const Model> base, const Device& device, const Choice& is_chosen);

    const Decoder& decoder() const { return decoder_; }
    const std::vector<Entry>& entries() const { return entries_; }
    std::vector<Trained> trained() const;
    const Params& params() const { return params_; }

 private:
    std::shared_ptr<const Model> base_;
    Params params_;
    Decoder decoder_;
    std::vector<Entry> entries_;
};

/// Whether a weight can be trained at all: not the factors of rope, nor the bias that only chooses experts.
bool is_trainable(std::string_view name);

}  // namespace toy
