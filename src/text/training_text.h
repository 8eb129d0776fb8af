#pragma once
#include <cstdint>
#include <vector>

namespace toy {

/// A document to train on: its tokens, and for each whether it is a target. The loss counts targets only, where they
/// are predicted from all tokens before them.
struct TrainingText {
    std::vector<int32_t> ids;
    std::vector<uint8_t> is_target;  ///< as many as ids; 1: the loss counts it
};

}  // namespace toy
