#include "text/batch_source.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace toy {
namespace {

constexpr int64_t max_tokens = int64_t{1} << 28;  // of a batch

uint64_t number(const nlohmann::ordered_json& state, std::string_view key) {
    const auto found = state.is_object() ? state.find(key) : state.end();
    if (found == state.end() || !found->is_number_unsigned()) {
        bad_input("the position in the data is no object with the counts 'seed', 'epoch' and 'position'");
    }
    return found->get<uint64_t>();
}

}  // namespace

BatchSource::BatchSource(Corpus corpus, const PackingOptions& options, int64_t rows)
    : corpus_(std::move(corpus)), options_(options), rows_(rows) {
    packed();  // refuses options and corpora that cannot be packed
    if (rows < 1 || rows > max_tokens / options.length) {
        bad_input("a batch of {} rows of {} tokens is not possible; at most {} tokens are", rows, options.length,
                  max_tokens);
    }
}

PackedEpoch& BatchSource::packed() {
    if (!packed_) packed_.emplace(corpus_, options_, epoch_);
    return *packed_;
}

void BatchSource::begin_next_epoch() {
    ++epoch_;
    position_ = 0;
    if (options_.shuffle) packed_.reset();  // else all epochs are the same
}

Batch BatchSource::next() {
    Batch batch(rows_, options_.length);
    for (int64_t row = 0; row < rows_; ++row) {
        if (position_ == packed().rows()) begin_next_epoch();
        packed().write_row(position_++, batch, row);
    }
    return batch;
}

void BatchSource::skip(int64_t batches) {
    for (int64_t left = batches * rows_; left > 0;) {
        if (position_ == packed().rows()) begin_next_epoch();
        const int64_t step = std::min(left, packed().rows() - position_);
        position_ += step;
        left -= step;
    }
}

nlohmann::ordered_json BatchSource::state() const {
    return {{"seed", options_.seed}, {"epoch", epoch_}, {"position", static_cast<uint64_t>(position_)}};
}

void BatchSource::restore(const nlohmann::ordered_json& state) {
    PackingOptions options = options_;
    options.seed = number(state, "seed");
    const uint64_t epoch = number(state, "epoch"), position = number(state, "position");
    PackedEpoch packed(corpus_, options, epoch);
    if (position > static_cast<uint64_t>(packed.rows())) {
        bad_input(
            "the position in the data is row {} of epoch {}, which has {} rows: the corpus or the batch's shape "
            "has changed",
            position, epoch, packed.rows());
    }
    options_ = options;
    epoch_ = epoch;
    position_ = static_cast<int64_t>(position);
    packed_.emplace(std::move(packed));
}

PackingCounts BatchSource::counts() { return packed().counts(); }

}  // namespace toy
