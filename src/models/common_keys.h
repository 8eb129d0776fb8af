#pragma once
#include "models/spec.h"
#include "models/spec_keys.h"

namespace toy {

/// What the keys of all families have in common.

/// Name, V, D, L and the context; all else as the defaults of Spec say. One LayerSpec for each layer.
Spec read_sizes(const SpecKeys& keys);

/// read_sizes, and the sizes of attention and feed-forward, and which optional tensors there are: biases, the head,
/// rope factors. All layers see the whole text, rotated alike.
Spec read_common(const SpecKeys& keys, Rope::Order order);

/// Whether the older toy (0.8) wrote the file: it has its layout key, or one tensor for each head.
bool is_of_older_toy(const SpecKeys& keys);

/// Norm::Kind::rms or layer, and the eps that belongs to it.
void read_norm(const SpecKeys& keys, Norm::Kind kind, Spec& s);

/// rope.* with linear scaling, YaRN (arXiv 2309.00071) or LongRoPE (arXiv 2402.13753), as llama.cpp reads them.
Rope read_rope(const SpecKeys& keys, Rope::Order order, int64_t head_size, int64_t context);

/// attention.sliding_window for every layer, or for those that attention.sliding_window_pattern names; without that key
/// for all of each `period` layers but the last.
void read_windows(const SpecKeys& keys, int64_t period, int64_t default_window, Spec& s);

/// expert_* with routing as given, for families whose files do not state it.
void read_experts(const SpecKeys& keys, const Routing& routing, Spec& s);
/// Throws where the file has no experts though its architecture is one of them.
void require_experts(const SpecKeys& keys, const Spec& s);

}  // namespace toy
