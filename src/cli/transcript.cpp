#include "cli/transcript.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "io/quote.h"

namespace toy::cli {

void Transcript::set_echo(std::string text, std::span<const int32_t> ids) {
    echo_ids_.assign(ids.begin(), ids.end());
    echo_ = std::move(text);
    text_ = echo_;
}

void Transcript::print_echo() {
    if (show_ == Show::text && !echo_.empty()) print_text(echo_);
    if (show_ == Show::ids) {
        for (int32_t id : echo_ids_) print_id(id);
    }
    echo_.clear();
    echo_ids_.clear();
}

void Transcript::add(const GeneratedToken& token) {
    if (!token.is_prompt) {
        print_echo();
        ids_.push_back(token.id);
        text_ += token.text;
    }
    switch (show_) {
        case Show::text:
            if (!token.text.empty()) print_text(token.text);
            break;
        case Show::ids: print_id(token.id); break;
        case Show::logprobs: print_logprob(token); break;
        case Show::json: scored_.push_back(token); break;
    }
}

void Transcript::finish(const Finish& finish) {
    print_echo();
    finish_ = finish;
    text_ += finish.text;
    if (show_ == Show::text && !finish.text.empty()) print_text(finish.text);
    if (show_ == Show::ids) {
        print("\n");
        in_line_ = false;
    }
    end_line();
}

void Transcript::end_line() {
    if (in_line_ && is_terminal()) print("\n");
    in_line_ = false;
}

void Transcript::print_text(std::string_view text) {
    print(is_terminal() ? without_controls(text) : text);
    in_line_ = !text.ends_with('\n');
}

void Transcript::print_id(int32_t id) {
    print(fmt::format("{}{}", in_line_ ? " " : "ids: ", id));
    in_line_ = true;
}

void Transcript::print_logprob(const GeneratedToken& token) {
    const auto shown = [&](int32_t id) { return tokenizer_ ? quote(tokenizer_->piece(id)) : std::string("-"); };
    std::string line = fmt::format("{:.6f}\t{}\t{}", token.logprob, token.id, shown(token.id));
    for (const TokenLogprob& other : token.top) {
        line += fmt::format("\t{} {} {:.6f}", other.id, shown(other.id), other.logprob);
    }
    print(line + "\n");
}

nlohmann::ordered_json Transcript::logprobs(bool of_prompt) const {
    const auto described = [&](int32_t id, float logprob) {
        nlohmann::ordered_json json = {{"id", id}};
        if (tokenizer_) json["token"] = tokenizer_->piece(id);
        json["logprob"] = logprob;
        return json;
    };
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const GeneratedToken& token : scored_) {
        if (token.is_prompt != of_prompt) continue;
        nlohmann::ordered_json json = described(token.id, token.logprob);
        json["top"] = nlohmann::ordered_json::array();
        for (const TokenLogprob& other : token.top) json["top"].push_back(described(other.id, other.logprob));
        all.push_back(std::move(json));
    }
    return all;
}

}  // namespace toy::cli
