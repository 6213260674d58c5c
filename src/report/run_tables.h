#pragma once

#include <QJsonObject>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/time_range.h"
#include "core/definition_table.h"
#include "core/message_sink.h"
#include "core/messages.h"
#include "core/recording_condition.h"

namespace highwater::report {

/// A cell of a table; std::monostate where the value is unknown.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

/// A column of a table. The unit is the end of its name: ms or bytes.
struct TableColumn {
  enum class Type : std::uint8_t { kInteger, kReal, kText };
  const char* name;
  Type type;
};

/// A table of a run for other programs.
struct RunTable {
  const char* name;
  const char* text;  ///< what a row is
  std::vector<TableColumn> columns;
  bool isOfWholeRun = false;  ///< made from all of the run once it has been read
};

/// All tables of a run: "run", "steps", "sync_points" and so on.
[[nodiscard]] const std::vector<RunTable>& runTables();

/// The table of that name; nullptr if there is none.
[[nodiscard]] const RunTable* runTable(std::string_view name);

/// Takes rows of tables.
class RowSink {
 public:
  RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;
  virtual ~RowSink() = default;

  /// Said once, before the first row: "simulated mps".
  virtual void begin(std::string_view device) = 0;
  /// Whether rows of this table are wanted.
  [[nodiscard]] virtual bool wants(const RunTable& table) const = 0;
  /// One cell for each column.
  virtual void row(const RunTable& table, std::span<const Cell> cells) = 0;
};

/// Makes the rows of a run's tables as its events come, so that memory does not grow with the run.
/// Times are milliseconds since the start of the run's clock.
class RunTables final : public MessageSink {
 public:
  /// Only events that touch `range`, all without one. `sink` must outlive this.
  explicit RunTables(RowSink& sink, std::optional<analysis::TimeRange> range = std::nullopt);

  void take(std::span<const std::uint8_t> frame, const Message& message) override;
  /// Makes the rows that only the end tells. Call it once, after the last message.
  void finish(const RecordingCondition& condition);
  /// Makes the rows of tables of the whole run, from the report of all of it.
  void addReport(const QJsonObject& report);

  [[nodiscard]] std::uint64_t written() const { return written_; }
  /// The number of events that the recording lacks, since they were lost under load.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  /// A step whose time on the device may follow.
  struct Step {
    std::uint32_t number;
    std::vector<Cell> cells;
  };

  void takeBatch(const EventBatch& batch);
  template <typename Event>
  void addAll(std::span<const Event> events);
  void add(const RunTable& table, std::span<const Cell> cells);
  void addSteps(std::size_t most);

  RowSink& sink_;
  std::optional<analysis::TimeRange> range_;
  DefinitionTable definitions_;
  std::optional<Hello> hello_;
  RunDescription run_;
  std::optional<RunEnd> end_;
  std::deque<Step> steps_;
  std::uint64_t written_ = 0, dropped_ = 0;
};

}  // namespace highwater::report
