#include "store/checksums.h"

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "store/format.h"

namespace highwater::store {
namespace {

/// FNV-1a with 64 bits: it finds damage, not forgery.
class Fnv1a {
 public:
  void add(std::uint8_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3u; }
  void add(std::uint64_t value) {
    for (unsigned shift = 0; shift < 64; shift += 8) add(static_cast<std::uint8_t>(value >> shift));
  }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint8_t>(c));
  }
  [[nodiscard]] std::string hex() const {
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash_ >> shift & 15];
    return text;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

void addColumn(Statement& row, int column, Fnv1a& hash) {
  const int type = row.columnType(column);
  hash.add(static_cast<std::uint8_t>(type));
  if (type == SQLITE_INTEGER) hash.add(static_cast<std::uint64_t>(row.integer(column)));
  if (type == SQLITE_FLOAT) hash.add(std::bit_cast<std::uint64_t>(row.real(column)));
  if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
    const std::string text = row.text(column);
    hash.add(std::uint64_t{text.size()});
    hash.add(text);
  }
}

Result<std::string> checksumOf(Database& database, const TableFormat& table) {
  auto rows = database.prepare(std::string("SELECT * FROM ") + table.name);
  if (!rows) return rows.error();
  Fnv1a hash;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return hash.hex();
    for (int column = 0; column < rows->columnCount(); ++column) addColumn(*rows, column, hash);
  }
}

/// Whether the table is one for people that the file has: older formats lack the newer ones.
Result<bool> hasChecksum(Database& database, const TableFormat& table) {
  if (!table.forPeople) return false;
  const auto schema = database.schemaOf(table.name);
  if (!schema) return schema.error();
  return !schema->empty();
}

Result<std::string> storedChecksum(Database& database, const TableFormat& table) {
  return database.value(std::string("SELECT fnv1a FROM checksums WHERE name = '") + table.name +
                        '\'');
}

}  // namespace

Result<void> writeChecksums(Database& database) {
  const auto has = database.schemaOf("checksums");
  if (!has) return has.error();
  if (has->empty()) return {};
  auto insert = database.prepare("INSERT OR REPLACE INTO checksums VALUES (?, ?)");
  if (!insert) return insert.error();
  for (const TableFormat& table : kTables) {
    const auto counts = hasChecksum(database, table);
    if (!counts) return counts.error();
    if (!*counts) continue;
    const auto checksum = checksumOf(database, table);
    if (!checksum) return checksum.error();
    if (auto done = insert->run(std::string_view(table.name), std::string_view(*checksum)); !done) {
      return done;
    }
  }
  return {};
}

std::vector<std::string> findChangedTables(Database& database) {
  const auto closed = database.value("SELECT 1 FROM checksums LIMIT 1");
  if (closed && closed->empty()) return {};
  std::vector<std::string> changed;
  for (const TableFormat& table : kTables) {
    const auto counts = hasChecksum(database, table);
    if (counts && !*counts) continue;
    const auto stored = storedChecksum(database, table);
    const auto now = checksumOf(database, table);
    if (!stored || !now || *stored != *now) {
      changed.push_back(std::string("its table \"") + table.name +
                        "\" was changed after the recording was closed: its checksum differs");
    }
  }
  return changed;
}

}  // namespace highwater::store
