#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/generator.h"

namespace toy::cli {

/// How `infer` shows what comes.
enum class Show {
    text,      ///< the text alone, as it comes
    ids,       ///< "ids: 1 15 200"
    logprobs,  ///< a line for each token: log-probability, id, text, alternatives
    json,      ///< nothing until the end
};

/// Prints a generation as it comes and keeps it for the report.
class Transcript {
 public:
    /// `tokenizer` may be null where `show` is ids or json.
    Transcript(Show show, const Tokenizer* tokenizer) : show_(show), tokenizer_(tokenizer) {}

    /// --echo: what stands before the continuation, printed with its first token. `text` is the prompt as given.
    void set_echo(std::string text, std::span<const int32_t> ids);
    void add(const GeneratedToken& token);
    void finish(const Finish& finish);
    /// On a terminal, begins a new line where one is begun.
    void end_line();

    const Finish& result() const { return finish_; }
    /// All of the text, the echo included.
    const std::string& text() const { return text_; }
    const std::vector<int32_t>& ids() const { return ids_; }
    /// Log-probabilities of the generated tokens, or of the prompt's, as {id, token, logprob, top[]}.
    nlohmann::ordered_json logprobs(bool of_prompt) const;

 private:
    void print_echo();
    void print_text(std::string_view text);
    void print_id(int32_t id);
    void print_logprob(const GeneratedToken& token);

    Show show_;
    const Tokenizer* tokenizer_;
    std::string echo_;
    std::vector<int32_t> echo_ids_;
    std::string text_;
    std::vector<int32_t> ids_;
    std::vector<GeneratedToken> scored_;
    Finish finish_{FinishReason::cancelled, {}, {}};
    bool in_line_ = false;
};

}  // namespace toy::cli
