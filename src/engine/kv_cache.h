#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "models/spec.h"
#include "tensor/params.h"

namespace toy {

/// What layers remember of many sequences, each in a slot. Attention: a contiguous run of rows of keys and values, row
/// p holding position p, so that what a sequence computes does not depend on its neighbours; latent attention: one row
/// of latents in place of both. Recurrent layers: a state of fixed size. Spare rows behind all slots take what padding
/// writes.
class KvCache {
 public:
    struct Options {
        int slots = 1;            ///< sequences held at once
        int64_t context = 0;      ///< tokens that each may have
        DType type = DType::F16;  ///< f32, f16, bf16, or q8_0 and q4_0 where the head size is a multiple of 32
    };
    /// Throws Error{bad_input} for a type or sizes that cannot be, Error{failure} where memory lacks.
    KvCache(const Spec& spec, const Device& device, const Options& options);

    const Options& options() const { return options_; }
    bool is_recurrent() const { return is_recurrent_; }
    /// Rows of one slot: the context rounded up to a multiple of 256.
    int64_t slot_rows() const { return slot_rows_; }
    /// Row i of the spare ones, of which there are enough for the padding of one prompt chunk or of one token of all
    /// slots.
    int64_t spare_row(int64_t i) const { return slot_rows_ * options_.slots + i; }
    int64_t spare_rows() const;
    int64_t row(int slot, int64_t position) const { return slot * slot_rows_ + position; }
    /// The state that padding sequence i writes; there is one for each slot.
    int spare_state(int i) const { return options_.slots + i; }

    /// [rows, K·d] and [rows, K·dv] of a layer; no values with latent attention.
    Tensor keys(int layer) const { return keys_[static_cast<size_t>(layer)]; }
    Tensor values(int layer) const { return values_[static_cast<size_t>(layer)]; }
    /// [states, I'·(W−1)] and [states, J·P·N] of a recurrent layer, f32.
    Tensor conv(int layer) const { return conv_[static_cast<size_t>(layer)]; }
    Tensor scan(int layer) const { return scan_[static_cast<size_t>(layer)]; }

    /// The lowest free slot, or nothing.
    std::optional<int> claim();
    void release(int slot) { taken_[static_cast<size_t>(slot)] = false; }

    /// Tokens that a slot remembers.
    int64_t length(int slot) const { return lengths_[static_cast<size_t>(slot)]; }
    /// Throws Error{bad_input} where the next token of a slot cannot be at `position`: a recurrent state goes on where
    /// it is.
    void check_next(int slot, int64_t position) const;
    /// Notes that a slot now remembers `length` tokens.
    void set_length(int slot, int64_t length) { lengths_[static_cast<size_t>(slot)] = length; }
    /// Forgets what comes after the first `length` tokens. Throws Error{bad_input} where the slot remembers fewer, and
    /// where a recurrent state would have to go back; 0 always works.
    void truncate(int slot, int64_t length);
    /// Makes `to` remember the first `length` tokens of `from`; a recurrent state all of them. A copy is how a prefix
    /// is shared, and how a recurrent state is kept to return to. Throws Error{bad_input} as truncate.
    void copy(int from, int to, int64_t length);

    /// Copies the rows of `count` tokens of a slot from position `from` on to position `to` on.
    void move_rows(int slot, int64_t from, int64_t to, int64_t count);

    size_t bytes() const { return params_.allocated_bytes(); }
    /// Bytes that a cache would take, without making it.
    static size_t bytes_for(const Spec& spec, const Options& options);

 private:
    void check_cut(int slot, int64_t length) const;
    void copy_rows(int64_t from, int64_t to, int64_t count);
    Options options_;
    bool is_recurrent_;
    int64_t slot_rows_;
    Params params_;
    std::vector<Tensor> keys_, values_, conv_, scan_;
    std::vector<bool> taken_;
    std::vector<int64_t> lengths_;
};

}  // namespace toy
