#include "store/database.h"

#include <sys/resource.h>

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

/// A file name as SQLite's URI, with the characters escaped that have a meaning in one.
std::string uriFor(const std::filesystem::path& path, const char* parameter) {
  std::error_code ignored;
  std::string uri = "file://";
  for (const char c : std::filesystem::absolute(path, ignored).string()) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr const char* kHex = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      uri += c;
    }
  }
  return uri + '?' + parameter;
}

}  // namespace

Error databaseError(sqlite3* db) {
  // SQLite has no name for EFBIG (ENOSPC it calls "database or disk is full"), and has lost the
  // errno by now where it has cleaned up after the error.
  rlimit limit{};
  if ((sqlite3_extended_errcode(db) & 0xff) == SQLITE_IOERR &&
      ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return failure("the file may not grow beyond the limit of a file's size (ulimit -f)");
  }
  return {codeFor(sqlite3_extended_errcode(db)), sqlite3_errmsg(db)};
}

Result<void> Statement::execute() {
  const Result<bool> row = step();
  sqlite3_reset(statement_.get());
  if (!row) return row.error();
  return {};
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

Result<Database> Database::open(const std::filesystem::path& path, int flags,
                                const char* uriParameter) {
  // SQLite would take a file called "file:x" or ":memory:" for something else.
  const std::string plain = path.is_absolute() ? path.string() : "./" + path.string();
  const std::string name = uriParameter ? uriFor(path, uriParameter) : plain;
  if (uriParameter) flags |= SQLITE_OPEN_URI;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &db, flags, nullptr);
  Database database(db);
  if (code == SQLITE_OK) {
    // Apple's SQLite leaves the WAL beside a file that was closed, unless told otherwise.
    int persistent = 0;
    if (flags & SQLITE_OPEN_READWRITE) {
      sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &persistent);
    }
    return database;
  }
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

Result<std::string> Database::schemaOf(std::string_view table) {
  return value("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = '" +
               std::string(table) + "'");
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
