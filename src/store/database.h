#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

/// SQLite's C interface with our errors and lifetimes. For the sources of store/ only.
namespace highwater::store {

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// A prepared statement. Rows: while step() is true, read columns. Values for one execution: run().
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  /// Binds the values in order, runs to the end, and is ready for the next.
  template <typename... Values>
  [[nodiscard]] Result<void> run(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    Result<bool> row = step();
    sqlite3_reset(statement_.get());
    if (!row) return row.error();
    return {};
  }

  /// True where there is a row.
  [[nodiscard]] Result<bool> step();

  [[nodiscard]] int columnType(int column) { return sqlite3_column_type(statement_.get(), column); }
  [[nodiscard]] std::int64_t integer(int column) {
    return sqlite3_column_int64(statement_.get(), column);
  }
  [[nodiscard]] std::string text(int column);
  /// Valid until the next step().
  [[nodiscard]] std::span<const std::uint8_t> blob(int column);

 private:
  void bind(int index, std::int64_t value);
  void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::uint32_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, bool value) { bind(index, static_cast<std::int64_t>(value)); }
  /// NaN is stored as null.
  void bind(int index, double value);
  void bind(int index, std::string_view value);
  void bind(int index, std::span<const std::uint8_t> value);
  template <typename T>
  void bind(int index, const std::optional<T>& value) {
    if (value) {
      bind(index, *value);
    } else {
      sqlite3_bind_null(statement_.get(), index);
    }
  }

  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
};

class Database {
 public:
  /// `flags` and `uri` as in sqlite3_open_v2.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, int flags,
                                             bool immutable = false);

  [[nodiscard]] Result<void> execute(const char* sql);
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  /// The first column of the first row, as text; "" without a row.
  [[nodiscard]] Result<std::string> value(std::string_view sql);
  [[nodiscard]] sqlite3* handle() const { return db_.get(); }

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  std::unique_ptr<sqlite3, CloseDatabase> db_;
};

/// For a file that is hostile until shown otherwise: https://www.sqlite.org/security.html
void harden(sqlite3* db);

/// The last error of the connection, with a code for callers.
[[nodiscard]] Error databaseError(sqlite3* db);

}  // namespace highwater::store
