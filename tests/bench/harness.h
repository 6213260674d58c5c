#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/estimate.h"

namespace CLI {
class App;
}

// What all benches share: options, goals, and one JSON. tests/bench/run runs them and prints the
// table of their JSON; tests/bench/python/results.py prints it, and writes the same JSON for the
// bench in Python:
//
//   {"schema": 2,
//    "bench": "frame",                    as tests/bench/run knows it
//    "peer": "QCustomPlot 2.1",           what was measured beside it in the same run
//    "date": "2026-11-24T09:30:00Z",
//    "commit": "6e182bb",                 null if unknown; ends with "-dirty" if files were changed
//    "machine": {"processor": "AMD EPYC", "cores": 2, "load": 0.8},     load when the bench began
//    "rows": [
//      {"name": "cursor",
//       "setting": "smooth, 1 h",
//       "unit": "ms",                     may be empty
//       "value": 0.75,                    the median, or the only value
//       "low": 0.71, "high": 0.79,        its 95 % interval; null for a count or a maximum
//       "samples": 15,
//       "goal": 1,                        an upper limit; null: none
//       "verdict": "met"}]}               "met", "missed" or "inconclusive"; null without a goal
//
// A number that is not finite is null.
namespace highwater::bench {

/// One row of a bench's table.
struct Row {
  std::string name;
  std::string setting;
  std::string unit;
  Estimate estimate;
  std::optional<double> goal = {};  ///< an upper limit; else Harness takes it from Bench::goals
  bool exact = false;               ///< the value has no interval: see exact()
};

/// A row with one value, such as a count or a maximum: it has no interval.
[[nodiscard]] Row exact(std::string name, std::string setting, std::string unit, double value,
                        std::optional<double> goal = {});
/// A row with the quantile `share` (0 to 1; 1 is the largest) of some values. Precondition: not
/// empty.
[[nodiscard]] Row quantile(std::string name, std::string setting, std::string unit,
                           std::vector<double> values, double share);

/// An upper limit for the rows called `row` whose setting contains `in`.
struct Goal {
  std::string row;
  double atMost = 0;
  std::string in = {};
};

/// What a bench is. All its goals are here, but those that depend on what it measures.
struct Bench {
  std::string name;
  std::string about;  ///< for --help
  std::string peer;
  std::vector<Goal> goals;
  int rounds = 0;  ///< default of --rounds; 0: there is nothing to repeat, and no such option
};

/// What a bench has measured, and where.
struct Report {
  std::string bench, peer;
  std::string date, commit;
  std::string processor;
  unsigned cores = 0;
  double load = 0;
  std::vector<Row> rows = {};
};

/// Gives each row that has no goal the first of `goals` that is for it. Returns the goals whose row
/// does not exist in any setting: a goal must not be lost unnoticed when a row is renamed.
std::vector<Goal> applyGoals(std::vector<Row>& rows, const std::vector<Goal>& goals);

[[nodiscard]] std::string asJson(const Report& report);

/// The main() of a bench.
class Harness {
 public:
  explicit Harness(Bench bench);
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  /// For options of the bench's own, besides --json and --rounds.
  [[nodiscard]] CLI::App& options() { return *options_; }
  /// The value of --rounds, once run() has parsed the options.
  [[nodiscard]] int rounds() const { return rounds_; }

  /// Parses the options, calls measure(report), and writes the JSON to the file of --json, or to
  /// stdout. Returns the exit code: 1, with a message on stderr, if `measure` throws or adds no
  /// row, or if the file cannot be written. A missed goal is no failure.
  int run(int argc, char** argv, const std::function<void(Report&)>& measure);

 private:
  Bench bench_;
  std::unique_ptr<CLI::App> options_;
  std::string json_;
  int rounds_ = 0;
};

}  // namespace highwater::bench
