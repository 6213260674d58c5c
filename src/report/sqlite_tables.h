#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/run_tables.h"
#include "store/database.h"

namespace highwater::report {

/// Writes all tables of a run into a SQLite file.
class SqliteTables final : public RowSink {
 public:
  /// "HWtb" as SQLite's application_id, in the bytes 68 to 71 of the file.
  static constexpr std::uint32_t kApplicationId = 0x48577462;

  /// Creates the file, which must not exist. Fails with the errors of store::databaseError().
  [[nodiscard]] static Result<std::unique_ptr<SqliteTables>> create(
      const std::filesystem::path& path);

  /// What a file of create() holds besides: 'the table "mine"'. Empty if there is nothing. Fails
  /// with the errors of store::databaseError(). The file may be hostile.
  [[nodiscard]] static Result<std::string> addedTo(const std::filesystem::path& path);

  void begin(std::string_view) override {}  // the table "run" says it
  [[nodiscard]] bool wants(const RunTable&) const override { return !problem_; }
  void row(const RunTable& table, std::span<const Cell> cells) override;
  /// Whether a row could not be written: no more are wanted.
  [[nodiscard]] bool failed() const { return problem_.has_value(); }
  /// Ends the file. Call it once. Fails with the first error of all rows.
  [[nodiscard]] Result<void> finish();

 private:
  explicit SqliteTables(store::Database database) : database_(std::move(database)) {}
  [[nodiscard]] Result<void> createTables();

  store::Database database_;
  std::map<const RunTable*, store::Statement> inserts_;
  std::optional<Error> problem_;
};

}  // namespace highwater::report
