#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/full_sequence.h"
#include "io/imatrix.h"

namespace toy {

/// Collects what an importance matrix holds: for every weight of a block that is multiplied with activations, the sums
/// of the squares of its inputs. (Embeddings are looked up, not multiplied with.) Texts are computed in chunks of equal
/// length, each for itself.
class ImportanceCollector {
 public:
    /// `with_head`: also for the head. Throws Error where memory lacks.
    ImportanceCollector(std::shared_ptr<const Model> model, Runner& runner, int64_t chunk_size, bool with_head);

    /// Computes chunk_size ids. Throws Error{failure} naming the weight where an activation is not finite.
    void add(std::span<const int32_t> ids);

    const std::map<std::string, ImportanceSums, std::less<>>& weights() const { return weights_; }

 private:
    void add_taps();
    void see_product(const Node& product, ImportanceSums& entry);
    void see_choice(const Node& product, ImportanceSums& entry);

    std::shared_ptr<const Model> model_;
    Runner& runner_;
    Graph graph_;
    FullSequence context_;
    Tensor ids_;
    std::vector<Tap> taps_;
    std::map<std::string, ImportanceSums, std::less<>> weights_;
};

}  // namespace toy
