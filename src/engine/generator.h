#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/inference.h"
#include "engine/sampler.h"
#include "engine/stop_matcher.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace toy {

/// What a sequence is to generate.
struct Request {
    std::vector<int32_t> prompt;  ///< at least one token
    int64_t max_tokens = 16;      ///< −1: until the context is full
    Sampling sampling;
    std::vector<std::string> stop;  ///< strings that end the text and do not appear in it
    int logprobs = -1;              ///< alternatives reported with each token; −1: no log-probabilities
    bool prompt_logprobs = false;   ///< also of the prompt's tokens, from the second on
    bool ignore_end = false;        ///< end-of-generation tokens do not stop
};

/// One generated (or, with prompt_logprobs, prompt) token.
struct GeneratedToken {
    int32_t id;
    std::string text;  ///< what can be shown now, whole characters; empty while held back or without a tokenizer
    bool is_prompt = false;
    float logprob = 0;  ///< before sampling; with Request::logprobs only
    std::vector<TokenLogprob> top;
};

enum class FinishReason { end_of_generation, stop_string, length, cancelled };
std::string_view name(FinishReason reason);

struct Finish {
    FinishReason reason;
    std::string text;  ///< what was held back until the end
    std::string stop;  ///< the stop string that was found
    int64_t prompt_tokens = 0, generated_tokens = 0;
};

/// Runs many sequences in one batch; they join and leave at any step, and none sees another. Not thread-safe: one
/// thread adds, steps and cancels. Callbacks run inside `step`; they may add and cancel.
class Generator {
 public:
    using OnToken = std::function<void(const GeneratedToken&)>;
    using OnFinish = std::function<void(const Finish&)>;

    /// Without a tokenizer (null) there is no text, and no stop strings.
    Generator(Inference& inference, std::shared_ptr<const Tokenizer> tokenizer);
    /// Sequences still running give their slots back; their callbacks are not called.
    ~Generator();
    Generator(const Generator&) = delete;
    Generator& operator=(const Generator&) = delete;

    /// Queues a request; it starts when a slot is free. Throws Error{bad_input} where the prompt is empty, holds an id
    /// outside the vocabulary, or does not fit the context with the tokens asked for.
    int add(Request request, OnToken on_token, OnFinish on_finish);
    /// Ends a sequence, waiting or running, with FinishReason::cancelled; unknown numbers are ignored.
    void cancel(int sequence);
    /// Computes one chunk of a prompt, or one token of all running sequences. False when there was nothing to do.
    bool step();
    /// Steps until nothing is left to do.
    void run() {
        while (step()) {
        }
    }

    size_t waiting() const { return waiting_.size(); }
    size_t running() const { return running_.size(); }

 private:
    struct Sequence;
    void admit();
    bool prefill();
    void decode();
    void decode(std::vector<Sequence*> batch);
    void take_prompt_logprobs(Sequence& sequence, std::span<const float> rows, size_t first, size_t count);
    void choose(Sequence& sequence, std::span<const float> row);
    void finish(Sequence& sequence, FinishReason reason);
    void remove_finished();

    Inference& inference_;
    std::shared_ptr<const Tokenizer> tokenizer_;
    std::deque<std::unique_ptr<Sequence>> waiting_;
    std::vector<std::unique_ptr<Sequence>> running_;
    int next_number_ = 0;
    bool prefill_is_next_ = true;
};

}  // namespace toy
