#pragma once
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace toy {

/// Every failure that a user can cause or meet is an Error whose text is one sentence: what is wrong, where (key,
/// tensor, byte offset, line), and what to do. `kind` decides the exit code of the command line.
class Error : public std::runtime_error {
 public:
    enum class Kind {
        bad_input,  ///< a file, flag or request that we refuse: exit code 2
        failure,    ///< something that should have worked did not (memory, disk, network): exit code 1
    };
    Error(Kind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
    Kind kind() const { return kind_; }

 private:
    Kind kind_;
};

/// Throws Error{bad_input}; arguments as fmt::format.
template <class... Args>
[[noreturn]] void bad_input(fmt::format_string<Args...> format, Args&&... args) {
    throw Error(Error::Kind::bad_input, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error{failure}; arguments as fmt::format.
template <class... Args>
[[noreturn]] void failure(fmt::format_string<Args...> format, Args&&... args) {
    throw Error(Error::Kind::failure, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace toy
