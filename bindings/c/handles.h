#pragma once
#include <memory>
#include <mutex>

#include "tensor/tensor.h"

namespace toy {
class Gguf;
class MappedFile;
}  // namespace toy

namespace toy::capi {

class Session;

// The handles of the C interface: numbers that one table of the process looks up. A number is never used twice, so a
// stale handle, a foreign pointer or a handle of another kind is an Error with one sentence. All functions may be
// called from any thread.

void* add_handle(std::shared_ptr<Session> session);
void* add_handle(std::shared_ptr<const Gguf> gguf);
void* add_handle(const std::shared_ptr<Session>& session, Tensor tensor);
void remove_handle(void* handle) noexcept;

std::shared_ptr<const Gguf> gguf_of(void* handle);
/// Takes an open file out of the table.
void remove_gguf(void* handle);
/// The open file, or part of one, that is mapped at `base`; null where there is none.
std::shared_ptr<const MappedFile> file_mapped_at(const void* base);

/// A session in use by one call: others on the same session wait.
class SessionInUse {
 public:
    explicit SessionInUse(void* handle);
    Session* operator->() const { return session_.get(); }
    Session& operator*() const { return *session_; }

 protected:
    explicit SessionInUse(std::shared_ptr<Session> session);

 private:
    std::shared_ptr<Session> session_;
    std::unique_lock<std::mutex> lock_;  // released before the session may go
};

/// A tensor, with its session in use.
class TensorInUse : public SessionInUse {
 public:
    explicit TensorInUse(void* handle);
    Tensor tensor() const { return tensor_; }

 private:
    Tensor tensor_;
};

/// The tensor behind a handle, which must belong to `session`, the session in use.
Tensor tensor_of(void* handle, const Session& session);

}  // namespace toy::capi
