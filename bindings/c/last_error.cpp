#include "last_error.h"

#include <exception>
#include <new>

namespace toy::capi {
namespace {

thread_local std::string t_last_error;
thread_local std::string t_kept_text;

}  // namespace

void set_last_error(const char* function, const char* reason) noexcept {
    try {
        t_last_error = std::string(function) + ": " + reason;
    } catch (...) {
        t_last_error.clear();  // no memory even for the reason
    }
}

const char* last_error() noexcept { return t_last_error.c_str(); }

const char* kept_text(std::string text) {
    t_kept_text = std::move(text);
    return t_kept_text.c_str();
}

void note_failure(const char* function) noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        set_last_error(function, "not enough memory");
    } catch (const std::exception& error) {
        set_last_error(function, error.what());
    } catch (...) {
        set_last_error(function, "an unknown failure");
    }
}

}  // namespace toy::capi
