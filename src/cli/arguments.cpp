// Why not CLI11: Debian's 2.1.2 takes the word after `--prompt=` as its value, and cuts `--stop "[a,b]"` in two. Values
// of ours are texts of any kind, so each must arrive as it was typed.
#include "cli/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "cli/numbers.h"
#include "cli/suggest.h"
#include "core/error.h"
#include "io/quote.h"

namespace toy::cli {
namespace {

bool takes_value(const Flag& flag) { return flag.kind != Kind::toggle; }

void check_integer(const Flag& flag, std::string_view value) {
    const std::optional<int64_t> number = to_integer(value);
    if (!number) bad_input("--{}: {} is not a whole number", flag.name, quote(value));
    if (*number < flag.least || *number > flag.most) {
        bad_input("--{} is {}: choose {} to {}", flag.name, *number, flag.least, flag.most);
    }
}

void check_real(const Flag& flag, std::string_view value) {
    const std::optional<double> number = to_real(value);
    if (!number) bad_input("--{}: {} is not a number", flag.name, quote(value));
    if (*number >= flag.low && *number <= flag.high) return;
    if (flag.high == std::numeric_limits<double>::max()) {
        bad_input("--{} is {}: choose {} or more", flag.name, *number, flag.low);
    }
    bad_input("--{} is {}: choose {} to {}", flag.name, *number, flag.low, flag.high);
}

void check_value(const Flag& flag, std::string_view value) {
    switch (flag.kind) {
        case Kind::integer: return check_integer(flag, value);
        case Kind::real: return check_real(flag, value);
        case Kind::on_off:
            if (value != "on" && value != "off" && value != "1" && value != "0") {
                bad_input("--{}: {} is neither on nor off", flag.name, quote(value));
            }
            return;
        case Kind::choice:
            if (std::find(flag.choices.begin(), flag.choices.end(), value) == flag.choices.end()) {
                bad_input("--{}: {} is none of {}", flag.name, quote(value), fmt::join(flag.choices, ", "));
            }
            return;
        case Kind::file:
        case Kind::model:
            if (value.empty()) bad_input("--{} needs a path, not an empty text", flag.name);
            return;
        case Kind::toggle:
        case Kind::text: return;
    }
}

const Flag* find_letter(const Command& command, char letter) {
    for (const Flag* flag : flags_of(command)) {
        if (flag->letter == letter) return flag;
    }
    return nullptr;
}

const Flag* find_negated(const Command& command, std::string_view name) {
    if (!name.starts_with("no-")) return nullptr;
    const Flag* flag = find_flag(command, name.substr(3));
    return flag != nullptr && flag->can_be_negated ? flag : nullptr;
}

// A getter asked for a flag that the command does not declare: a mistake of ours.
const Flag& declared(const Command& command, std::string_view name) {
    const Flag* flag = find_flag(command, name);
    if (flag == nullptr) throw std::logic_error(fmt::format("{} declares no flag {}", command.name, name));
    return *flag;
}

// A number that the parser has let pass, or a fallback of ours.
template <class Number>
Number checked(std::optional<Number> number, std::string_view flag) {
    if (!number) throw std::logic_error(fmt::format("--{} has no number", flag));
    return *number;
}

bool is_flag_of(const Command& command, std::string_view word) {
    return word.size() > 2 && word.starts_with("--") && find_flag(command, word.substr(2)) != nullptr;
}

}  // namespace

bool is_on(std::string_view text) { return text == "on" || text == "1"; }

Arguments::Arguments(const Command& command, Words words) : command_(command) {
    bool only_words = false;
    for (size_t at = 0; at < words.size() && !wants_help_; ++at) {
        const std::string_view word = words[at];
        if (only_words || word.size() < 2 || word[0] != '-') {
            positionals_.emplace_back(word);
        } else if (word == "--") {
            only_words = true;
        } else if (word[1] == '-') {
            read_long(words, at);
        } else {
            read_short(words, at);
        }
    }
    if (!wants_help_) check_positionals();
}

void Arguments::read_long(Words words, size_t& at) {
    const std::string_view word = words[at].substr(2);
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (const Flag* negated = find_negated(command_, name); negated != nullptr && equals == std::string_view::npos) {
        return set(*negated, "off");
    }
    const Flag* flag = find_flag(command_, name);
    if (flag == nullptr) refuse_unknown(name);
    if (flag->name == "help" && equals == std::string_view::npos) {
        wants_help_ = true;
    } else if (equals != std::string_view::npos) {
        if (!takes_value(*flag)) bad_input("--{} takes no value", flag->name);
        set(*flag, word.substr(equals + 1));
    } else {
        set(*flag, takes_value(*flag) ? value_of(*flag, fmt::format("--{}", name), words, at) : "on");
    }
}

void Arguments::read_short(Words words, size_t& at) {
    const std::string_view word = words[at];
    const Flag* flag = find_letter(command_, word[1]);
    if (flag == nullptr) refuse_unknown(word.substr(1));
    if (!takes_value(*flag)) {
        if (word.size() > 2) bad_input("-{} takes no value", word[1]);
        if (flag->name == "help") {
            wants_help_ = true;
        } else {
            set(*flag, "on");
        }
    } else if (word.size() > 2) {
        set(*flag, word.substr(2));
    } else {
        set(*flag, value_of(*flag, std::string(word), words, at));
    }
}

std::string_view Arguments::value_of(const Flag& flag, const std::string& shown, Words words, size_t& at) const {
    if (at + 1 == words.size()) bad_input("{} needs a value: {} {}", shown, shown, flag.value);
    const std::string_view value = words[++at];
    if (is_flag_of(command_, value)) {
        bad_input("{} needs a value, but {} follows, which is a flag; write --{}={} to pass it as text", shown, value,
                  flag.name, value);
    }
    return value;
}

void Arguments::set(const Flag& flag, std::string_view value) {
    std::vector<std::string>& values = values_[flag.name];
    if (flag.kind == Kind::toggle) values.clear();  // twice on is on
    if (!values.empty() && !flag.repeats && !flag.is_list) bad_input("--{} is given twice", flag.name);
    if (!flag.is_list) {
        check_value(flag, value);
        values.emplace_back(value);
        return;
    }
    for (std::string_view part : split(value, ',')) {
        check_value(flag, part);
        values.emplace_back(part);
    }
}

void Arguments::refuse_unknown(std::string_view name) const {
    for (const Refused& refused : command_.refused) {
        const bool is_family = refused.name.ends_with('*');
        const std::string_view stem = refused.name.substr(0, refused.name.size() - (is_family ? 1 : 0));
        if (is_family ? name.starts_with(stem) : name == stem) {
            bad_input("--{} is not served: {}", name, refused.reason);
        }
    }
    std::vector<std::string_view> names;
    for (const Flag* flag : flags_of(command_)) names.push_back(flag->name);
    const std::string shown = fmt::format("{}{}", name.size() == 1 ? "-" : "--", name);
    bad_input("`toy {}` has no flag {}{}; `toy {} --help` lists them", command_.name, quote(shown),
              did_you_mean(name, names, "--"), command_.name);
}

void Arguments::check_positionals() const {
    const std::vector<Positional>& wanted = command_.positionals;
    for (size_t i = positionals_.size(); i < wanted.size(); ++i) {
        if (wanted[i].is_required) {
            bad_input("`toy {}` needs <{}>: {}", command_.name, wanted[i].name, wanted[i].summary);
        }
    }
    const bool is_open = !wanted.empty() && wanted.back().repeats;
    if (positionals_.size() > wanted.size() && !is_open) {
        bad_input("{} is one word too many for `toy {}`; a text of several words needs quotes",
                  quote(positionals_[wanted.size()]), command_.name);
    }
    for (size_t i = 0; i < std::min(wanted.size(), positionals_.size()); ++i) {
        const std::vector<std::string_view>& choices = wanted[i].choices;
        if (choices.empty() || std::find(choices.begin(), choices.end(), positionals_[i]) != choices.end()) continue;
        bad_input("<{}> is {}: choose {}", wanted[i].name, quote(positionals_[i]), fmt::join(choices, ", "));
    }
}

bool Arguments::on(std::string_view flag) const {
    const auto found = values_.find(flag);
    if (found != values_.end()) return is_on(found->second.front());
    const Flag& absent = declared(command_, flag);
    return absent.starts_on || is_on(absent.fallback);
}

std::string Arguments::text(std::string_view flag) const {
    const auto found = values_.find(flag);
    return found != values_.end() ? found->second.front() : std::string(declared(command_, flag).fallback);
}

int64_t Arguments::integer(std::string_view flag) const { return checked(to_integer(text(flag)), flag); }
double Arguments::real(std::string_view flag) const { return checked(to_real(text(flag)), flag); }

std::vector<std::string> Arguments::texts(std::string_view flag) const {
    const auto found = values_.find(flag);
    if (found != values_.end()) return found->second;
    const std::string_view fallback = declared(command_, flag).fallback;
    std::vector<std::string> all;
    if (fallback.empty()) return all;
    for (std::string_view part : split(fallback, ',')) all.emplace_back(part);
    return all;
}

std::vector<int64_t> Arguments::integers(std::string_view flag) const {
    std::vector<int64_t> all;
    for (const std::string& part : texts(flag)) all.push_back(checked(to_integer(part), flag));
    return all;
}

}  // namespace toy::cli
