#pragma once

#include <QByteArray>
#include <QString>
#include <map>
#include <vector>

#include "analysis/live_store.h"
#include "e2e/runs.h"

// Compares the probe's waits and fallbacks with those of the simulated device's ledger, from the
// first step on, evaluations included.
namespace highwater::test {

/// One wait of the host, or one fallback with all its waits. The probe times the op that waits; the
/// ledger times the call into the device that the op makes, and the wait inside that call.
struct Wait {
  Span span;          ///< the probe's op; the ledger's wait; a fallback: the whole fallback
  double heldMs = 0;  ///< compared between the two: length of the op, or of the call
  double waitMs = 0;  ///< ledger only: the part of heldMs that was spent waiting
};
using Waits = std::vector<Wait>;  ///< ordered by begin

struct Account {
  std::map<QString, Waits> waits;    ///< by kind, outside of fallbacks
  Waits ofFallbacks;                 ///< one for each fallback
  std::map<QString, int> fallbacks;  ///< by op
};

[[nodiscard]] Account byProbe(const analysis::LiveStore& store);
/// Empty if the file cannot be read. Waits for events are left out: the probe itself asks for the
/// time between two that have passed (tst_queue checks that it waits for none).
[[nodiscard]] Account byLedger(const QString& file, const analysis::LiveStore& store);

/// What the probe found in a run, a line for each wait and fallback with all that describes it but
/// its times: thread, step, phase, kind, op, module and call stack. In order of time on each
/// thread.
[[nodiscard]] std::vector<QByteArray> eventLines(const analysis::LiveStore& store);

/// A text for messages: each kind with count and ms.
[[nodiscard]] QByteArray text(const Account& account);

/// Compares single waits, over all runs that were added.
class WaitComparison {
 public:
  /// Describes the first difference in kind or number, or a wait of the ledger that lies outside of
  /// the probe's op; empty where the accounts agree. `run` names the run in outliers().
  [[nodiscard]] QByteArray add(const QString& run, const Account& probe, const Account& ledger);

  struct Totals {
    int count = 0;
    double probeMs = 0, ledgerMs = 0, waitMs = 0;
    /// Waits within 2 %, or within 50 us if that is more.
    [[nodiscard]] bool agree() const;
  };
  [[nodiscard]] const std::map<QString, Totals>& totals() const { return totals_; }
  [[nodiscard]] int count() const { return count_; }
  /// Waits that differ by more than max(2 %, 50 us), a line for each.
  [[nodiscard]] const std::vector<QByteArray>& outliers() const { return outliers_; }

 private:
  [[nodiscard]] QByteArray addKind(const QString& run, const QString& kind, const Waits& probe,
                                   const Waits& ledger);

  std::map<QString, Totals> totals_;
  int count_ = 0;
  std::vector<QByteArray> outliers_;
};

}  // namespace highwater::test
