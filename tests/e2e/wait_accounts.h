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
  int calls = 1;      ///< ledger only: calls that heldMs sums; those of a fallback that waited
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

/// A text for messages: each kind with count and ms.
[[nodiscard]] QByteArray text(const Account& account);

/// Compares single waits, over all runs that were added.
class WaitComparison {
 public:
  /// Describes the first difference in kind or number, or a wait of the ledger that lies outside of
  /// the probe's op; empty where the accounts agree.
  [[nodiscard]] QByteArray add(const Account& probe, const Account& ledger);

  /// The waits of a kind. An op holds its wait, so it never takes less time than the wait. How much
  /// more it takes is some 10 us of work, unless its thread loses its core within it: single waits
  /// may differ by any time, the median one may not.
  struct Kind {
    Waits ledger;
    /// By which the probe's times are longer, for each of the ledger's calls, in the same order.
    std::vector<double> excessMs;
    [[nodiscard]] double medianExcessMs() const;
    /// The median excess is at most 2 % of the median wait, or 50 us if that is more.
    [[nodiscard]] bool agrees() const;
    [[nodiscard]] QByteArray text() const;
  };
  [[nodiscard]] const std::map<QString, Kind>& kinds() const { return kinds_; }

 private:
  [[nodiscard]] QByteArray addKind(const QString& kind, const Waits& probe, const Waits& ledger);

  std::map<QString, Kind> kinds_;
};

}  // namespace highwater::test
