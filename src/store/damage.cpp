#include "store/damage.h"

#include "store/checksums.h"
#include "store/format.h"

namespace highwater::store {
namespace {

std::string named(const TableFormat& table) {
  return std::string("its table \"") + table.name + '"';
}

/// The first line of a row of quick_check, which may begin with a title.
std::string firstFinding(const std::string& said) {
  constexpr std::string_view kTitle = "*** in database main ***\n";
  const std::string text = said.starts_with(kTitle) ? said.substr(kTitle.size()) : said;
  return text.substr(0, text.find('\n'));
}

std::string unsound(const TableFormat& table, const std::string& why) {
  return named(table) + " fails SQLite's check: " + why;
}

std::string checkStructure(Database& database, const TableFormat& table) {
  auto rows = database.prepare(std::string("PRAGMA quick_check('") + table.name + "')");
  if (!rows) return unsound(table, rows.error().message);
  const auto row = rows->step();
  if (!row) return unsound(table, row.error().message);
  const std::string said = *row ? rows->text(0) : "ok";
  return said == "ok" ? std::string() : unsound(table, firstFinding(said));
}

std::string checkTable(Database& database, const TableFormat& table, std::int32_t formatVersion) {
  const auto create = database.schemaOf(table.name);
  if (!create) return unsound(table, create.error().message);
  const bool expected = formatVersion >= table.since && formatVersion <= table.until;
  if (create->empty()) return expected ? named(table) + " is missing" : std::string();
  if (!expected && !table.laterInOlder) {
    return "its header says format " + std::to_string(formatVersion) + ", which has no table \"" +
           table.name + '"';
  }
  if (*create != table.create) return named(table) + " is of another form";
  return checkStructure(database, table);
}

}  // namespace

std::vector<std::string> findDamage(Database& database, std::int32_t formatVersion) {
  std::vector<std::string> damage;
  for (const TableFormat& table : kTables) {
    std::string found = checkTable(database, table, formatVersion);
    if (!found.empty()) damage.push_back(std::move(found));
  }
  if (damage.empty() && formatVersion >= 3) damage = findChangedTables(database);
  return damage;
}

}  // namespace highwater::store
