#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace toy::cli {
namespace {

std::atomic<bool> g_is_polite = false;
std::atomic<bool> g_is_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may not meet a lock

void on_interrupt(int) {
    if (!g_is_polite || g_is_interrupted.exchange(true)) ::_exit(1);
}

}  // namespace

void catch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    // Who started us with interrupts ignored (nohup, a shell's background job) wants them ignored.
    struct sigaction before = {};
    if (::sigaction(SIGINT, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
        ::sigaction(SIGINT, &action, nullptr);
    // A closed pipe shall be an error of write(2), not the end of the process.
    std::signal(SIGPIPE, SIG_IGN);
}

bool is_interrupted() { return g_is_interrupted; }

Polite::Polite() { g_is_polite = true; }
Polite::~Polite() { g_is_polite = false; }

}  // namespace toy::cli
