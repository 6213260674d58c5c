#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/result.h"

/// SQLite's C interface with Result and RAII. For the sources of store/, and for the tables that
/// report/ writes.
namespace highwater::store {

/// Deleter of a SQLite connection for std::unique_ptr.
struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
/// Deleter of a SQLite statement for std::unique_ptr.
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// A prepared SQL statement. To read rows, call step() and read the columns while it returns true.
/// To write, call run() with the values.
class Statement {
 public:
  Statement() = default;
  /// Takes ownership of `statement`.
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  /// Binds the values to the statement's parameters in order, executes it and resets it. For
  /// statements that return no rows. Fails with the errors of databaseError().
  template <typename... Values>
  [[nodiscard]] Result<void> run(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    return execute();
  }

  /// The same for any number of values, each of a type that run() takes, or a variant of such.
  template <typename Value>
  [[nodiscard]] Result<void> runAll(std::span<const Value> values) {
    int index = 0;
    for (const Value& each : values) bind(++index, each);
    return execute();
  }

  /// Moves to the next row. Returns false if there is none. The row's columns are valid until the
  /// next step(). Fails with the errors of databaseError().
  [[nodiscard]] Result<bool> step();

  /// A column of the current row as an integer, 0 if it is null. Columns count from 0.
  [[nodiscard]] std::int64_t integer(int column) {
    return sqlite3_column_int64(statement_.get(), column);
  }
  /// A column of the current row as text, empty if it is null. Columns count from 0.
  [[nodiscard]] std::string text(int column);
  /// A column of the current row as bytes, empty if it is null. They are valid until the next
  /// step(). Columns count from 0.
  [[nodiscard]] std::span<const std::uint8_t> blob(int column);

 private:
  /// Executes what is bound, and resets it.
  [[nodiscard]] Result<void> execute();
  void bind(int index, std::int64_t value);
  void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::uint32_t value) { bind(index, static_cast<std::int64_t>(value)); }
  /// NaN is stored as null.
  void bind(int index, double value);
  void bind(int index, std::string_view value);
  void bind(int index, std::span<const std::uint8_t> value);
  void bind(int index, std::monostate) { sqlite3_bind_null(statement_.get(), index); }
  void bind(int index, const std::string& value) { bind(index, std::string_view(value)); }
  template <typename T>
  void bind(int index, const std::optional<T>& value) {
    if (value) {
      bind(index, *value);
    } else {
      bind(index, std::monostate());
    }
  }
  template <typename... T>
  void bind(int index, const std::variant<T...>& value) {
    std::visit([&](const auto& held) { bind(index, held); }, value);
  }

  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
};

/// A connection to a SQLite file. Its methods fail with the errors of databaseError().
class Database {
 public:
  /// Opens a SQLite file. `flags` are those of sqlite3_open_v2(). `uriParameter` is a parameter of
  /// https://www.sqlite.org/uri.html, such as "immutable=1", or null. Fails with kFailed if the
  /// file cannot be opened (it is missing, or permission is), or with another error of
  /// databaseError(). Does not check the content: for a file that is no database, the first
  /// statement fails.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, int flags,
                                             const char* uriParameter = nullptr);

  /// Runs one or more SQL statements and ignores their rows. Fails with the errors of
  /// databaseError().
  [[nodiscard]] Result<void> execute(const char* sql);
  /// Prepares one SQL statement. It must not outlive the connection. Fails with the errors of
  /// databaseError().
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  /// Runs a query and returns the first column of its first row as text. Empty if there is no row.
  /// Fails with the errors of databaseError().
  [[nodiscard]] Result<std::string> value(std::string_view sql);
  /// Returns the CREATE statement of a table, empty if there is no such table. `table` is one of
  /// our own names: it is not quoted. Fails with the errors of databaseError().
  [[nodiscard]] Result<std::string> schemaOf(std::string_view table);
  [[nodiscard]] sqlite3* handle() const { return db_.get(); }

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  std::unique_ptr<sqlite3, CloseDatabase> db_;
};

/// Protects a connection against a file that may be hostile: sets SQLite's defensive mode,
/// distrusts the schema, turns triggers and views off, and lowers the limits of sizes. See
/// https://www.sqlite.org/security.html.
void harden(sqlite3* db);

/// Converts the connection's last SQLite error. The code is kMalformed, kNoPermission, kOutOfMemory
/// or kFailed.
[[nodiscard]] Error databaseError(sqlite3* db);

}  // namespace highwater::store
