#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/registry.h"

namespace toy::cli {

/// The words that follow a command, checked against its flags. The getters take a flag's name without dashes; a flag
/// that was not given has its `fallback`.
class Arguments {
 public:
    /// Reads `--name value`, `--name=value`, `-n value`, `-nvalue`; after `--` nothing is a flag. A value may be empty
    /// and may begin with a dash. Throws Error{bad_input} for a flag that is unknown, refused, given twice or without
    /// its value, for a value outside what the flag allows, and for words too many or too few. Stops at --help.
    Arguments(const Command& command, std::span<const std::string_view> words);

    const Command& command() const { return command_; }
    bool wants_help() const { return wants_help_; }

    bool given(std::string_view flag) const { return values_.contains(flag); }
    /// Whether a toggle or an on/off flag is on.
    bool on(std::string_view flag) const;
    /// The value, or the fallback, or "".
    std::string text(std::string_view flag) const;
    int64_t integer(std::string_view flag) const;
    double real(std::string_view flag) const;
    /// All values of a flag that repeats or is a list.
    std::vector<std::string> texts(std::string_view flag) const;
    std::vector<int64_t> integers(std::string_view flag) const;

    const std::vector<std::string>& positionals() const { return positionals_; }
    /// The i-th word that is not a flag, or "".
    std::string positional(size_t i) const { return i < positionals_.size() ? positionals_[i] : ""; }

 private:
    using Words = std::span<const std::string_view>;
    void read_long(Words words, size_t& at);
    void read_short(Words words, size_t& at);
    std::string_view value_of(const Flag& flag, const std::string& shown, Words words, size_t& at) const;
    void set(const Flag& flag, std::string_view value);
    [[noreturn]] void refuse_unknown(std::string_view name) const;
    void check_positionals() const;

    const Command& command_;
    std::map<std::string_view, std::vector<std::string>> values_;
    std::vector<std::string> positionals_;
    bool wants_help_ = false;
};

/// Whether a text is what `on_off` flags take, and which.
bool is_on(std::string_view text);

}  // namespace toy::cli
