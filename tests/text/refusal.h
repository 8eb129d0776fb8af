#pragma once
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace toy::test {

/// The sentence with which `action` is refused as bad input; "" and a test failure where it is not.
template <class Action>
std::string refused(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::bad_input) << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "is not refused";
    return "";
}

}  // namespace toy::test

/// The action is refused as bad input, in a sentence that holds `part`.
#define EXPECT_REFUSAL(part, action)                                                         \
    do {                                                                                     \
        const std::string sentence = toy::test::refused([&] { action; });                    \
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence << "\nno: " << (part); \
    } while (false)
