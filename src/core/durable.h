#pragma once
#include <filesystem>

namespace toy {

/// Flushes a file or a folder (its list of names) to the disk. Throws Error{failure}. File systems that cannot flush a
/// folder say EINVAL; there is no more to do there.
void flush_to_disk(const std::filesystem::path& path);

/// Moves a file or folder to a name in the same file system, and flushes the folders on both sides. An empty folder or
/// a file under the new name is replaced. Throws Error{failure}.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Makes `link` a symbolic link to `target` (a path relative to the link's folder), in one step also where there is one
/// already. Throws Error{failure}.
void link_atomically(const std::filesystem::path& target, const std::filesystem::path& link);

}  // namespace toy
