#pragma once

#include <filesystem>
#include <string>
#include <string_view>

/// The WAL beside a recording, read without SQLite, which ignores what it cannot use. For the
/// sources of store/ only.
namespace highwater::store {

/// What SQLite appends to the name of a database to name its write-ahead log (WAL).
inline constexpr std::string_view kWalSuffix = "-wal";
/// The path of the write-ahead log (WAL) that SQLite keeps beside a database file.
[[nodiscard]] std::filesystem::path walOf(const std::filesystem::path& database);

/// True if a database file has a write-ahead log (WAL) with pages in it.
[[nodiscard]] bool hasWal(const std::filesystem::path& database);

/// Describes a write-ahead log (WAL) whose end SQLite silently ignores: its header is damaged, or a
/// page with a wrong checksum has a sound commit behind it. Empty if the WAL is sound, absent or
/// unreadable. A wrong checksum in a last transaction without a commit is no damage: a killed
/// writer may leave one. Precondition: nobody writes it.
[[nodiscard]] std::string findWalDamage(const std::filesystem::path& database);

}  // namespace highwater::store
