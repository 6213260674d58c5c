#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "analysis/run_summary.h"

namespace highwater::analysis {

/// Totals of the events of a growing column, for any range of time without a walk over the events
/// in it: a leaf holds the totals of LeafRows rows, a node those of kFan leaves or nodes, and each
/// also the span of time in which its events begin. The order of the rows need not be that of time,
/// but the nearer it is, the fewer leaves a range cuts.
///
/// `Totals` is a value with add(const Totals&). Rows never change once they are in a leaf.
/// A query looks at the single rows of the leaves that its range cuts, which usually are two.
template <typename Totals, std::size_t LeafRows>
class TotalsTree {
 public:
  static constexpr std::size_t kLeafRows = LeafRows;
  /// The leaves, or nodes, that a node sums up.
  static constexpr std::size_t kFan = 16;

  /// The totals of consecutive rows; `firstNs` and `lastNs` are the earliest and the latest begin
  /// of an event in them.
  struct Node {
    Totals totals;
    std::int64_t firstNs = std::numeric_limits<std::int64_t>::max();
    std::int64_t lastNs = std::numeric_limits<std::int64_t>::min();

    /// Extends the span of time to an event that begins at `ns`.
    void reach(std::int64_t ns) {
      firstNs = std::min(firstNs, ns);
      lastNs = std::max(lastNs, ns);
    }
  };

  /// The number of rows that are in leaves; the next leaf begins with this row.
  [[nodiscard]] std::size_t rows() const { return levels_.front().size() * LeafRows; }

  /// Adds the leaf of the next LeafRows rows.
  void add(Node leaf) {
    levels_.front().push_back(std::move(leaf));
    for (std::size_t level = 0; levels_[level].size() % kFan == 0; ++level) {
      if (level + 1 == levels_.size()) levels_.emplace_back();
      const std::vector<Node>& below = levels_[level];
      Node node = below[below.size() - kFan];
      for (std::size_t i = below.size() - kFan + 1; i < below.size(); ++i) {
        node.totals.add(below[i].totals);
        node.reach(below[i].firstNs);
        node.reach(below[i].lastNs);
      }
      levels_[level + 1].push_back(std::move(node));
    }
  }

  /// Covers the events of the rows [firstRow, rows()) that begin in the range: calls whole(totals)
  /// for totals of such events alone, and cut(firstRow, lastRow) for rows [firstRow, lastRow) of
  /// which some may begin outside.
  template <typename Whole, typename Cut>
  void query(const TimeRange& range, std::size_t firstRow, Whole&& whole, Cut&& cut) const {
    const std::size_t top = levels_.size() - 1;
    visit(top, 0, levels_[top].size(), {range, firstRow}, whole, cut);
    // What is not in a complete node of the level above.
    for (std::size_t level = top; level-- > 0;) {
      visit(level, levels_[level + 1].size() * kFan, levels_[level].size(), {range, firstRow},
            whole, cut);
    }
  }

 private:
  struct Query {
    const TimeRange& range;
    std::size_t firstRow;
  };

  template <typename Whole, typename Cut>
  void visit(std::size_t level, std::size_t first, std::size_t last, const Query& query,
             Whole& whole, Cut& cut) const {
    std::size_t rowsOfNode = LeafRows;
    for (std::size_t i = 0; i < level; ++i) rowsOfNode *= kFan;
    for (std::size_t i = first; i < last; ++i) {
      const Node& node = levels_[level][i];
      const std::size_t beginRow = i * rowsOfNode, endRow = beginRow + rowsOfNode;
      if (endRow <= query.firstRow || node.lastNs < query.range.beginNs ||
          node.firstNs >= query.range.endNs) {
        continue;
      }
      if (beginRow >= query.firstRow && node.firstNs >= query.range.beginNs &&
          node.lastNs < query.range.endNs) {
        whole(node.totals);
      } else if (level > 0) {
        visit(level - 1, i * kFan, (i + 1) * kFan, query, whole, cut);
      } else {
        cut(std::max(beginRow, query.firstRow), endRow);
      }
    }
  }

  std::vector<std::vector<Node>> levels_ = std::vector<std::vector<Node>>(1);  ///< leaves first
};

/// Sums by key. `Sums` has add(const Sums&), and its initial value is that of no event.
template <typename Key, typename Sums>
class KeyedSums {
 public:
  /// The sums of a key, to be added to.
  Sums& operator[](const Key& key) {
    const auto at = std::lower_bound(sums_.begin(), sums_.end(), key, isBefore);
    if (at != sums_.end() && at->first == key) return at->second;
    return sums_.insert(at, {key, Sums()})->second;
  }
  void add(const KeyedSums& other) {
    std::vector<std::pair<Key, Sums>> missing;
    auto mine = sums_.begin();
    for (const auto& each : other.sums_) {
      mine = std::lower_bound(mine, sums_.end(), each.first, isBefore);
      if (mine != sums_.end() && mine->first == each.first) {
        mine->second.add(each.second);
      } else {
        missing.push_back(each);
      }
    }
    if (missing.empty()) return;
    const auto known = static_cast<std::ptrdiff_t>(sums_.size());
    sums_.insert(sums_.end(), missing.begin(), missing.end());
    std::inplace_merge(sums_.begin(), sums_.begin() + known, sums_.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  /// Gives back the room that growing left over.
  void shrink() { sums_.shrink_to_fit(); }

  /// The keys and their sums, by key.
  [[nodiscard]] auto begin() const { return sums_.begin(); }
  [[nodiscard]] auto end() const { return sums_.end(); }
  [[nodiscard]] bool empty() const { return sums_.empty(); }

 private:
  static bool isBefore(const std::pair<Key, Sums>& each, const Key& key) {
    return each.first < key;
  }

  std::vector<std::pair<Key, Sums>> sums_;  ///< sorted by key
};

}  // namespace highwater::analysis
