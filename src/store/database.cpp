#include "store/database.h"

#include <cmath>

#include "store/format.h"

namespace highwater::store {
namespace {

ErrorCode codeFor(int sqliteCode) {
  switch (sqliteCode & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
    case SQLITE_ERROR:
      return ErrorCode::kMalformed;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return ErrorCode::kNoPermission;
    case SQLITE_NOMEM:
      return ErrorCode::kOutOfMemory;
    default:
      return ErrorCode::kFailed;
  }
}

/// A file name as SQLite's URI: what has a meaning there is escaped.
std::string uriFor(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr const char* kHex = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Error databaseError(sqlite3* db) {
  return {codeFor(sqlite3_extended_errcode(db)), sqlite3_errmsg(db)};
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return databaseError(sqlite3_db_handle(statement_.get()));
}

std::string Statement::text(int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (!text) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::span<const std::uint8_t> Statement::blob(int column) {
  const auto* bytes =
      static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
  if (!bytes) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
}

void Statement::bind(int index, double value) {
  sqlite3_bind_double(statement_.get(), index, value);
}

void Statement::bind(int index, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), index, value.data() ? value.data() : "", value.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind(int index, std::span<const std::uint8_t> value) {
  sqlite3_bind_blob64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC);
}

Result<Database> Database::open(const std::filesystem::path& path, int flags, bool immutable) {
  const std::string name = immutable ? uriFor(path) : path.string();
  if (immutable) flags |= SQLITE_OPEN_URI;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &db, flags, nullptr);
  Database database(db);
  if (code == SQLITE_OK) return database;
  if (!db) return Error{ErrorCode::kOutOfMemory, "not enough memory for SQLite"};
  return databaseError(db);
}

Result<void> Database::execute(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return databaseError(db_.get());
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code == SQLITE_OK) return Statement(statement);
  return databaseError(db_.get());
}

Result<std::string> Database::value(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return statement.error();
  const Result<bool> row = statement->step();
  if (!row) return row.error();
  return *row ? statement->text(0) : std::string();
}

void harden(sqlite3* db) {
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxBatchBytes + (1u << 20)));
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 64 << 10);
  sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 64);
  sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 20);
  sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 3);
  sqlite3_limit(db, SQLITE_LIMIT_FUNCTION_ARG, 8);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
}

}  // namespace highwater::store
