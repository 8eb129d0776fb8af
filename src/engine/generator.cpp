#include "engine/generator.h"

#include <algorithm>

#include "core/error.h"

namespace toy {
namespace {

// Logits of prompt tokens are V floats each; chunks of a scored prompt are cut so that they stay below this.
constexpr int64_t k_most_logit_bytes = int64_t{64} << 20;

}  // namespace

std::string_view name(FinishReason reason) {
    switch (reason) {
        case FinishReason::end_of_generation: return "end_of_generation";
        case FinishReason::stop_string: return "stop_string";
        case FinishReason::length: return "length";
        case FinishReason::cancelled: return "cancelled";
    }
    return "unknown";
}

struct Generator::Sequence {
    int number;
    Request request;
    OnToken on_token;
    OnFinish on_finish;
    Sampler sampler;
    StopMatcher stops;
    std::optional<Detokenizer> detokenizer;
    int slot = -1;
    int64_t done = 0;  ///< tokens in the cache
    int64_t generated = 0;
    int32_t last = -1;  ///< chosen, not yet computed
    bool is_finished = false;
    bool is_long = false;  ///< Spec::is_long of all that it may become

    bool is_prefilling() const { return done < static_cast<int64_t>(request.prompt.size()); }
};

Generator::Generator(Inference& inference, std::shared_ptr<const Tokenizer> tokenizer)
    : inference_(inference), tokenizer_(std::move(tokenizer)) {}

int Generator::add(Request request, OnToken on_token, OnFinish on_finish) {
    const int64_t vocabulary = inference_.model().spec().vocabulary;
    const int64_t context = inference_.options().context;
    const auto length = static_cast<int64_t>(request.prompt.size());
    if (length == 0) bad_input("the prompt is empty: it needs at least one token");
    for (int32_t id : request.prompt) {
        if (id < 0 || id >= vocabulary)
            bad_input("the prompt holds token {}, but there are only 0..{}", id, vocabulary - 1);
    }
    if (request.max_tokens < -1) bad_input("{} tokens cannot be generated", request.max_tokens);
    if (length > context || (request.max_tokens > 0 && request.max_tokens > context - length)) {
        bad_input("a prompt of {} tokens and {} new ones do not fit the context of {}", length,
                  std::max<int64_t>(request.max_tokens, 0), context);
    }
    if (!tokenizer_ && !request.stop.empty()) bad_input("stop strings need a model with a tokenizer");
    Sampler sampler(request.sampling, vocabulary);
    for (int32_t id : request.prompt) sampler.accept(id);
    StopMatcher stops(request.stop);
    std::optional<Detokenizer> detokenizer;
    if (tokenizer_) detokenizer.emplace(*tokenizer_, request.prompt);
    waiting_.push_back(
        std::make_unique<Sequence>(Sequence{next_number_, std::move(request), std::move(on_token), std::move(on_finish),
                                            std::move(sampler), std::move(stops), std::move(detokenizer)}));
    Sequence& s = *waiting_.back();
    const int64_t limit = s.request.max_tokens < 0 ? context : length + s.request.max_tokens;
    s.is_long = inference_.model().spec().is_long(limit);
    return next_number_++;
}

void Generator::cancel(int sequence) {
    const auto is_it = [&](const auto& s) { return s->number == sequence; };
    if (const auto found = std::find_if(waiting_.begin(), waiting_.end(), is_it); found != waiting_.end()) {
        const std::unique_ptr<Sequence> cancelled = std::move(*found);
        waiting_.erase(found);
        finish(*cancelled, FinishReason::cancelled);
    } else if (const auto live = std::find_if(running_.begin(), running_.end(), is_it); live != running_.end()) {
        // It leaves the batch at the next step: `step` may be iterating over it now.
        if (!(*live)->is_finished) finish(**live, FinishReason::cancelled);
    }
}

void Generator::admit() {
    while (!waiting_.empty()) {
        const std::optional<int> slot = inference_.cache().claim();
        if (!slot) return;
        waiting_.front()->slot = *slot;
        running_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
}

bool Generator::step() {
    remove_finished();
    admit();
    if (running_.empty()) return false;
    const bool any_decoding =
        std::any_of(running_.begin(), running_.end(), [](const auto& s) { return !s->is_prefilling(); });
    // Prompts and decoding take turns, so that a long prompt does not stop the others.
    if (!(any_decoding && !prefill_is_next_) && prefill()) {
        prefill_is_next_ = false;
    } else {
        decode();
        prefill_is_next_ = true;
    }
    remove_finished();
    return !running_.empty() || !waiting_.empty();
}

bool Generator::prefill() {
    const auto found = std::find_if(running_.begin(), running_.end(), [](const auto& s) { return s->is_prefilling(); });
    if (found == running_.end()) return false;
    Sequence& s = **found;
    const auto length = static_cast<int64_t>(s.request.prompt.size());
    int64_t chunk = inference_.options().chunk;
    if (s.request.prompt_logprobs) {
        const int64_t row = inference_.model().spec().vocabulary * static_cast<int64_t>(sizeof(float));
        chunk = std::clamp<int64_t>(k_most_logit_bytes / row, 1, chunk);
    }
    const int64_t count = std::min(chunk, length - s.done);
    Piece piece{s.slot,
                s.done,
                std::span(s.request.prompt).subspan(static_cast<size_t>(s.done), static_cast<size_t>(count)),
                {},
                s.is_long};
    const bool is_last = s.done + count == length;
    for (int64_t i = 0; i < count; ++i) {
        if (s.request.prompt_logprobs || (is_last && i + 1 == count)) piece.outputs.push_back(static_cast<int32_t>(i));
    }
    const std::vector<float> rows = inference_.step({&piece, 1});
    const auto first = static_cast<size_t>(s.done);
    s.done += count;
    if (s.request.prompt_logprobs) take_prompt_logprobs(s, rows, first, static_cast<size_t>(count));
    if (is_last && !s.is_finished) {
        const auto vocabulary = static_cast<size_t>(inference_.model().spec().vocabulary);
        choose(s, std::span(rows).last(vocabulary));
    }
    return true;
}

// Row i of a chunk that starts at prompt token `first` predicts prompt token first + i + 1.
void Generator::take_prompt_logprobs(Sequence& s, std::span<const float> rows, size_t first, size_t count) {
    const auto vocabulary = static_cast<size_t>(inference_.model().spec().vocabulary);
    for (size_t i = 0; i < count && first + i + 1 < s.request.prompt.size() && !s.is_finished; ++i) {
        const std::span<const float> row = rows.subspan(i * vocabulary, vocabulary);
        GeneratedToken token;
        token.id = s.request.prompt[first + i + 1];
        token.is_prompt = true;
        token.logprob = static_cast<float>(row[static_cast<size_t>(token.id)] - log_sum_exp(row));
        token.top = top_logprobs(row, s.request.logprobs);
        s.on_token(token);
    }
}

void Generator::decode() {
    for (bool is_long : {false, true}) {
        std::vector<Sequence*> batch;
        for (const auto& s : running_) {
            if (!s->is_prefilling() && !s->is_finished && s->is_long == is_long) batch.push_back(s.get());
        }
        if (!batch.empty()) decode(std::move(batch));
    }
}

void Generator::decode(std::vector<Sequence*> batch) {
    std::sort(batch.begin(), batch.end(), [](const Sequence* a, const Sequence* b) { return a->slot < b->slot; });
    std::vector<Piece> pieces;
    for (Sequence* s : batch) pieces.push_back({s->slot, s->done, {&s->last, 1}, {0}, s->is_long});
    const std::vector<float> rows = inference_.step(pieces);
    const auto vocabulary = static_cast<size_t>(inference_.model().spec().vocabulary);
    for (size_t i = 0; i < batch.size(); ++i) {
        ++batch[i]->done;
        if (!batch[i]->is_finished) choose(*batch[i], std::span(rows).subspan(i * vocabulary, vocabulary));
    }
}

void Generator::choose(Sequence& s, std::span<const float> row) {
    const int64_t context = inference_.options().context;
    if (s.request.max_tokens == 0) return finish(s, FinishReason::length);
    GeneratedToken token;
    token.id = s.sampler.choose(row);
    s.last = token.id;
    ++s.generated;
    if (s.request.logprobs >= 0) {
        token.logprob = static_cast<float>(row[static_cast<size_t>(token.id)] - log_sum_exp(row));
        token.top = top_logprobs(row, s.request.logprobs);
    }
    const bool is_end = tokenizer_ && !s.request.ignore_end && tokenizer_->is_end_of_generation(token.id);
    if (is_end) return finish(s, FinishReason::end_of_generation);
    if (s.detokenizer) token.text = s.stops.push(s.detokenizer->push(token.id));
    s.on_token(token);
    if (s.is_finished) return;  // the callback cancelled it
    if (s.stops.has_stopped()) return finish(s, FinishReason::stop_string);
    if (s.generated == s.request.max_tokens || s.done >= context) return finish(s, FinishReason::length);
}

void Generator::finish(Sequence& s, FinishReason reason) {
    s.is_finished = true;
    Finish end{reason, {}, s.stops.found(), static_cast<int64_t>(s.request.prompt.size()), s.generated};
    if (s.detokenizer && !s.stops.has_stopped()) {
        end.text = s.stops.push(s.detokenizer->finish()) + s.stops.finish();
    }
    s.on_finish(end);
}

void Generator::remove_finished() {
    std::erase_if(running_, [&](const auto& s) {
        if (s->is_finished) inference_.cache().release(s->slot);
        return s->is_finished;
    });
}

Generator::~Generator() {
    for (const auto& s : running_) inference_.cache().release(s->slot);
}

}  // namespace toy
