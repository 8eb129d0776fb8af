#pragma once
#include <string>
#include <vector>

#include "models/decoder.h"

namespace toy {

/// One entry of the table by which weights are loaded, saved, counted: the name in the file, the shape, and where it
/// goes.
struct WeightEntry {
    enum class Use {
        raw,     ///< read as it is, in f32: norms, biases and other factors
        table,   ///< rows are read by number
        matrix,  ///< multiplied with activations; or a stack of such matrices, one for each expert
        batch,   ///< a stack of matrices, one for each head
    };
    std::string name;
    std::vector<int64_t> shape;  ///< row-major
    Tensor* slot;
    Use use;
    Linear* map = nullptr;  ///< of which it is the weight, to which adapters can be added
};
/// All weights that the Spec calls for, in the order of the forward.
std::vector<WeightEntry> weight_table(Decoder& m);

/// After the weights of the table are in place: points to them where one tensor serves in several places.
void share_weights(Decoder& m);

}  // namespace toy
