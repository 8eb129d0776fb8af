#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace toy::cli {
namespace {

std::atomic<bool> g_is_polite = false;
std::atomic<bool> g_is_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may not meet a lock

void on_interrupt(int signal) {
    if (g_is_polite && !g_is_interrupted.exchange(true)) return;
    if (signal == SIGINT) ::_exit(1);
    // Who sends SIGTERM (a service manager, timeout) looks for a process that it ended.
    std::signal(signal, SIG_DFL);
    ::raise(signal);
}

// Who started us with a signal ignored (nohup, a shell's background job) wants it ignored.
void take_over(int signal, const struct sigaction& action) {
    struct sigaction before = {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
        ::sigaction(signal, &action, nullptr);
    }
}

}  // namespace

void catch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    take_over(SIGINT, action);
    take_over(SIGTERM, action);
    // A closed pipe shall be an error of write(2), not the end of the process.
    std::signal(SIGPIPE, SIG_IGN);
}

bool is_interrupted() { return g_is_interrupted; }

Polite::Polite() { g_is_polite = true; }
Polite::~Polite() { g_is_polite = false; }

}  // namespace toy::cli
