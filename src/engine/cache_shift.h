#pragma once
#include "engine/kv_cache.h"
#include "models/model.h"
#include "tensor/runner.h"

namespace toy {

/// Drops the `discard` tokens after the first `keep` of a slot and moves those behind them down, whose keys are rotated
/// back to their new positions; values stay as they were computed, with what was dropped in sight. `is_long` as the
/// sequence was computed. A quantised cache is rounded once more. Throws Error{bad_input} where the slot remembers
/// fewer tokens, where the state is recurrent, and where positions are learned, which cannot be moved.
void shift(KvCache& cache, const Model& model, Runner& runner, int slot, int64_t keep, int64_t discard, bool is_long);

}  // namespace toy
