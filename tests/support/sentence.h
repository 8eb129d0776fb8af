#pragma once
#include <functional>
#include <string>

#include "core/error.h"

namespace toy {

/// What an action that throws Error says.
inline std::string sentence(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace toy
