#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "core/error.h"

namespace toy {
namespace {

/// One mapped range as the signal handler sees it. Nodes are linked once, are reused, and are never freed: the handler
/// may walk the list at any moment, on any thread, and must not meet a lock.
struct Region {
    std::atomic<bool> taken{true};
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> end{0};
    std::atomic<const char*> path{nullptr};
    Region* next = nullptr;
};
static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);

std::atomic<Region*> g_regions{nullptr};
struct sigaction g_previous;

void write_all(const char* text) {
    size_t left = std::strlen(text);
    while (left > 0) {
        const ssize_t done = ::write(STDERR_FILENO, text, left);
        if (done <= 0) return;
        text += done;
        left -= static_cast<size_t>(done);
    }
}

/// Passes a SIGBUS that is none of ours to whoever handled it before.
void pass_on(int signal, siginfo_t* info, void* context) {
    if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
        g_previous.sa_sigaction(signal, info, context);
    } else if (g_previous.sa_handler != SIG_DFL && g_previous.sa_handler != SIG_IGN) {
        g_previous.sa_handler(signal);
    } else {
        ::signal(SIGBUS, SIG_DFL);
        ::raise(SIGBUS);  // blocked until this handler returns, then fatal as it would have been without us
    }
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
    const bool from_memory = info->si_code > 0;  // a signal sent by kill() carries no address
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    for (const Region* region = g_regions.load(); from_memory && region != nullptr; region = region->next) {
        const char* path = region->path.load();
        if (path == nullptr || address < region->begin.load() || address >= region->end.load()) continue;
        write_all("toy: error: ");
        write_all(path);
        write_all(": cannot be read any more: the file became shorter while it was in use, or its disk failed\n");
        ::_exit(1);
    }
    pass_on(signal, info, context);
}

void install_handler() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action = {};
        action.sa_sigaction = on_sigbus;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        if (::sigaction(SIGBUS, &action, &g_previous) != 0)
            failure("cannot install a SIGBUS handler: {}", std::strerror(errno));
    });
}

Region& take_region() {
    for (Region* region = g_regions.load(); region != nullptr; region = region->next) {
        bool expected = false;
        if (region->taken.compare_exchange_strong(expected, true)) return *region;
    }
    auto* made = new Region;
    made->next = g_regions.load();
    while (!g_regions.compare_exchange_weak(made->next, made)) {
    }
    return *made;
}

void add_region(const void* data, size_t size, const char* path) {
    Region& region = take_region();
    region.begin = reinterpret_cast<uintptr_t>(data);
    region.end = reinterpret_cast<uintptr_t>(data) + size;
    region.path = path;  // last: the handler skips nodes without a path
}

void remove_region(const void* data) {
    for (Region* region = g_regions.load(); region != nullptr; region = region->next) {
        if (region->path.load() == nullptr || region->begin.load() != reinterpret_cast<uintptr_t>(data)) continue;
        region->path = nullptr;
        region->taken = false;
        return;
    }
}

/// Closes the descriptor on every way out; the mapping outlives it.
struct Descriptor {
    int number;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a named pipe must not wait for a writer. It has no effect on regular files.
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file.number < 0 && errno == ENOENT) bad_input("{}: no such file", path.native());
    if (file.number < 0) bad_input("{}: cannot be opened: {}", path.native(), std::strerror(errno));
    struct stat status = {};
    if (::fstat(file.number, &status) != 0) failure("{}: cannot be examined: {}", path.native(), std::strerror(errno));
    if (S_ISDIR(status.st_mode)) bad_input("{}: is a folder, not a file", path.native());
    if (!S_ISREG(status.st_mode)) bad_input("{}: is not a regular file", path.native());

    const std::shared_ptr<MappedFile> mapped(new MappedFile);
    mapped->path_ = path;
    if (status.st_size == 0) return mapped;
    install_handler();
    const auto size = static_cast<size_t>(status.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number, 0);
    if (data == MAP_FAILED) failure("{}: cannot be mapped into memory: {}", path.native(), std::strerror(errno));
    mapped->data_ = static_cast<const std::byte*>(data);
    mapped->size_ = size;
    add_region(data, size, mapped->path_.c_str());
    return mapped;
}

MappedFile::~MappedFile() {
    if (data_ == nullptr) return;
    remove_region(data_);
    ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace toy
