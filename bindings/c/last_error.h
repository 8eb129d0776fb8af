#pragma once
#include <string>
#include <utility>

namespace toy::capi {

/// What tnn_last_error answers on this thread until the next failure. Never throws.
void set_last_error(const char* function, const char* reason) noexcept;
const char* last_error() noexcept;

/// Keeps a text for a caller that takes `const char*`: valid until the next text on this thread.
const char* kept_text(std::string text);

/// Notes the exception being handled as the last error.
void note_failure(const char* function) noexcept;

/// The border between C and C++: the body's answer, or `on_failure` with the last error set. No exception passes.
template <class Answer, class Body>
Answer answer(const char* function, Answer on_failure, Body body) noexcept {
    try {
        return body();
    } catch (...) {
        note_failure(function);
        return on_failure;
    }
}

/// For calls without a value: 0, or -1.
template <class Body>
int status(const char* function, Body body) noexcept {
    return answer(function, -1, [&] {
        body();
        return 0;
    });
}

}  // namespace toy::capi
