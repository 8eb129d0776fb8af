#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/spec.h"
#include "tensor/params.h"

namespace toy {

/// Keys and values of many sequences. Each sequence owns a slot: a contiguous run of rows, row p holding position p, so
/// that what it computes does not depend on its neighbours. One spare row behind all slots takes what padding writes.
class KvCache {
 public:
    struct Options {
        int slots = 1;            ///< sequences held at once
        int64_t context = 0;      ///< tokens that each may have
        DType type = DType::F16;  ///< f32, f16, bf16, or q8_0 where the head size is a multiple of 32
    };
    /// Throws Error{bad_input} for a type or sizes that cannot be, Error{failure} where memory lacks.
    KvCache(const Spec& spec, const Device& device, const Options& options);

    const Options& options() const { return options_; }
    /// Rows of one slot: the context rounded up to a multiple of 256.
    int64_t slot_rows() const { return slot_rows_; }
    /// Row i of the spare ones, of which there are enough for the padding of one prompt chunk or of one token of all
    /// slots.
    int64_t spare_row(int64_t i) const { return slot_rows_ * options_.slots + i; }
    int64_t spare_rows() const;
    int64_t row(int slot, int64_t position) const { return slot * slot_rows_ + position; }

    /// [rows, K·d] and [rows, K·dv] of a layer.
    Tensor keys(int layer) const { return keys_[static_cast<size_t>(layer)]; }
    Tensor values(int layer) const { return values_[static_cast<size_t>(layer)]; }

    /// The lowest free slot, or nothing.
    std::optional<int> claim();
    void release(int slot) { taken_[static_cast<size_t>(slot)] = false; }

    size_t bytes() const { return params_.allocated_bytes(); }
    /// Bytes that a cache would take, without making it.
    static size_t bytes_for(const Spec& spec, const Options& options);

 private:
    Options options_;
    int64_t slot_rows_;
    Params params_;
    std::vector<Tensor> keys_, values_;
    std::vector<bool> taken_;
};

}  // namespace toy
