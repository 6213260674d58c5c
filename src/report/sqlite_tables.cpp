#include "report/sqlite_tables.h"

#include <string>
#include <utility>

#include "core/plain_text.h"

namespace highwater::report {
namespace {

const char* sqlType(TableColumn::Type type) {
  switch (type) {
    case TableColumn::Type::kInteger:
      return "INTEGER";
    case TableColumn::Type::kReal:
      return "REAL";
    case TableColumn::Type::kText:
      return "TEXT";
  }
  return "TEXT";
}

}  // namespace

Result<std::unique_ptr<SqliteTables>> SqliteTables::create(const std::filesystem::path& path) {
  auto database = store::Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!database) return database.error();
  std::unique_ptr<SqliteTables> tables(new SqliteTables(std::move(*database)));
  if (auto created = tables->createTables(); !created) return created.error();
  return tables;
}

Result<std::string> SqliteTables::addedTo(const std::filesystem::path& path) {
  auto database = store::Database::open(path, SQLITE_OPEN_READONLY, "immutable=1");
  if (!database) return database.error();
  store::harden(database->handle());
  auto objects = database->prepare("SELECT type, name FROM sqlite_master");
  if (!objects) return objects.error();
  for (auto row = objects->step();; row = objects->step()) {
    if (!row) return row.error();
    if (!*row) return std::string();
    const std::string type = objects->text(0), name = objects->text(1);
    if (type == "table" && runTable(name)) continue;
    return "the " + plainText(type) + " \"" + plainText(name) + '"';
  }
}

Result<void> SqliteTables::createTables() {
  // A file that is not finished is removed: it needs no journal.
  std::string sql =
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA application_id = " +
      std::to_string(kApplicationId) + "; BEGIN;";
  for (const RunTable& table : runTables()) {
    std::string columns;
    for (const TableColumn& each : table.columns) {
      columns += (columns.empty() ? "" : ", ") + std::string(each.name) + ' ' + sqlType(each.type);
    }
    sql += "CREATE TABLE " + std::string(table.name) + " (" + columns + ");";
  }
  if (auto done = database_.execute(sql.c_str()); !done) return done.error();
  for (const RunTable& table : runTables()) {
    std::string values = "?";
    for (std::size_t i = 1; i < table.columns.size(); ++i) values += ", ?";
    auto insert =
        database_.prepare("INSERT INTO " + std::string(table.name) + " VALUES (" + values + ")");
    if (!insert) return insert.error();
    inserts_[&table] = std::move(*insert);
  }
  return {};
}

void SqliteTables::row(const RunTable& table, std::span<const Cell> cells) {
  if (problem_) return;
  if (auto done = inserts_[&table].runAll(cells); !done) problem_ = done.error();
}

Result<void> SqliteTables::finish() {
  if (problem_) return *problem_;
  inserts_.clear();
  return database_.execute("COMMIT");
}

}  // namespace highwater::report
