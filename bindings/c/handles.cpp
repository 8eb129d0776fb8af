#include "handles.h"

#include <cstdint>
#include <unordered_map>
#include <variant>

#include "core/error.h"
#include "io/gguf.h"
#include "session.h"

namespace toy::capi {
namespace {

// Odd numbers that fit 47 bits, as some languages ask of a pointer, in a range where programs and libraries are not
// loaded.
constexpr uintptr_t k_first = (uintptr_t{1} << 46) + 1;
static_assert(sizeof(void*) == 8);

struct SessionTensor {
    std::shared_ptr<Session> session;
    Tensor tensor;
};
using Entry = std::variant<std::shared_ptr<Session>, std::shared_ptr<const Gguf>, SessionTensor>;

struct Table {
    std::mutex mutex;
    std::unordered_map<uintptr_t, Entry> entries;
    uintptr_t next = k_first;
};

// Never destroyed: programs may call from functions that run at exit.
Table& table() {
    static Table* const instance = new Table;
    return *instance;
}

void* add(Entry entry) {
    const std::scoped_lock lock(table().mutex);
    const uintptr_t number = table().next;
    table().next += 2;
    table().entries.emplace(number, std::move(entry));
    return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): nothing reads what it points to
}

const char* kind_of(const Entry& entry) {
    constexpr const char* k_kinds[] = {"a session", "a gguf file", "a tensor"};
    return k_kinds[entry.index()];
}

// The entry of that kind; `wanted` names it for the sentence. The table is locked.
template <class Kind>
const Kind& entry_of(void* handle, const char* wanted) {
    if (handle == nullptr) bad_input("{} is needed, not NULL", wanted);
    const auto number = reinterpret_cast<uintptr_t>(handle);
    const auto found = table().entries.find(number);
    if (found == table().entries.end()) {
        const bool is_stale = number >= k_first && number < table().next && number % 2 == 1;
        if (!is_stale) bad_input("{} is needed, but {} is no handle of this library", wanted, handle);
        bad_input("{} is needed, but the handle {} is stale: what it stood for was freed or rebuilt", wanted, handle);
    }
    const Kind* entry = std::get_if<Kind>(&found->second);
    if (entry == nullptr) bad_input("{} is needed, but the handle given is {}", wanted, kind_of(found->second));
    return *entry;
}

std::shared_ptr<Session> session_of(void* handle) {
    const std::scoped_lock lock(table().mutex);
    return entry_of<std::shared_ptr<Session>>(handle, "a session");
}

SessionTensor session_tensor_of(void* handle) {
    const std::scoped_lock lock(table().mutex);
    return entry_of<SessionTensor>(handle, "a tensor");
}

}  // namespace

void* add_handle(std::shared_ptr<Session> session) { return add(std::move(session)); }
void* add_handle(std::shared_ptr<const Gguf> gguf) { return add(std::move(gguf)); }
void* add_handle(const std::shared_ptr<Session>& session, Tensor tensor) { return add(SessionTensor{session, tensor}); }

void remove_handle(void* handle) noexcept {
    Entry removed;  // destroyed after the lock is released
    const std::scoped_lock lock(table().mutex);
    const auto found = table().entries.find(reinterpret_cast<uintptr_t>(handle));
    if (found == table().entries.end()) return;
    removed = std::move(found->second);
    table().entries.erase(found);
}

std::shared_ptr<const Gguf> gguf_of(void* handle) {
    const std::scoped_lock lock(table().mutex);
    return entry_of<std::shared_ptr<const Gguf>>(handle, "a gguf file");
}

void remove_gguf(void* handle) {
    const std::shared_ptr<const Gguf> gguf = gguf_of(handle);
    remove_handle(handle);
}

std::shared_ptr<const MappedFile> file_mapped_at(const void* base) {
    const std::scoped_lock lock(table().mutex);
    for (const auto& [number, entry] : table().entries) {
        const auto* gguf = std::get_if<std::shared_ptr<const Gguf>>(&entry);
        if (gguf == nullptr) continue;
        for (const std::shared_ptr<const MappedFile>& file : (*gguf)->parts()) {
            if (file->bytes().data() == base) return file;
        }
    }
    return nullptr;
}

SessionInUse::SessionInUse(std::shared_ptr<Session> session) : session_(std::move(session)), lock_(session_->calls) {}

SessionInUse::SessionInUse(void* handle) : SessionInUse(session_of(handle)) {
    session_of(handle);  // another thread may have freed it while this one waited
}

TensorInUse::TensorInUse(void* handle)
    : SessionInUse(session_tensor_of(handle).session), tensor_(session_tensor_of(handle).tensor) {}

Tensor tensor_of(void* handle, const Session& session) {
    const SessionTensor found = session_tensor_of(handle);
    if (found.session.get() != &session) bad_input("a tensor of another session was given");
    return found.tensor;
}

}  // namespace toy::capi
