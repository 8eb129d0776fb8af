#pragma once

namespace toy::cli {

/// Ctrl-C ends toy with exit code 1, at once, and SIGTERM ends it by that signal, unless a Polite object exists: then
/// the first of either only raises a flag, which the work in hand checks so that it can finish its output (infer), or
/// write a checkpoint and the end of its run (train); the second one ends toy at once.
void catch_interrupts();

/// Whether Ctrl-C or SIGTERM came while a Polite object existed.
bool is_interrupted();

class Polite {
 public:
    Polite();
    ~Polite();
    Polite(const Polite&) = delete;
    Polite& operator=(const Polite&) = delete;
};

}  // namespace toy::cli
