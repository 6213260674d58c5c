#include "analysis/totals_tree.h"
#include "support/test_program.h"

using namespace highwater::analysis;

namespace {

struct Sum {
  std::int64_t value = 0;
  void add(const Sum& other) { value += other.value; }
};
using Sums = KeyedSums<int, Sum>;
using Tree = TotalsTree<Sums, 4>;

struct Row {
  std::int64_t ns = 0;
  int key = 0;
  std::int64_t value = 0;
};

/// Rows nearly in order of time, some far from their place.
std::vector<Row> randomRows(std::size_t count, std::mt19937& random) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const bool stray = random() % 50 == 0;
    const auto ns =
        static_cast<std::int64_t>(stray ? random() % (10 * count + 1) : 10 * i + random() % 30);
    rows.push_back({ns, static_cast<int>(random() % 7), static_cast<std::int64_t>(random() % 100)});
  }
  return rows;
}

Tree treeOf(const std::vector<Row>& rows) {
  Tree tree;
  while (rows.size() - tree.rows() >= Tree::kLeafRows) {
    Tree::Node leaf;
    for (std::size_t i = 0; i < Tree::kLeafRows; ++i) {
      const Row& row = rows[tree.rows() + i];
      leaf.totals[row.key].value += row.value;
      leaf.reach(row.ns);
    }
    tree.add(leaf);
  }
  return tree;
}

}  // namespace

class TestTotalsTree : public QObject {
  Q_OBJECT

 private slots:
  void asAWalkOverTheRowsSums() {
    std::mt19937 random(3);
    for (const std::size_t count : {0U, 3U, 4U, 64U, 1000U, 5000U}) {
      const std::vector<Row> rows = randomRows(count, random);
      const Tree tree = treeOf(rows);
      for (int i = 0; i < 200; ++i) {
        std::uniform_int_distribution<std::int64_t> anywhere(
            0, static_cast<std::int64_t>(10 * count + 40));
        TimeRange range{anywhere(random), anywhere(random)};
        if (range.beginNs > range.endNs) std::swap(range.beginNs, range.endNs);
        const std::size_t firstRow = i % 2 == 0 ? 0 : random() % (count + 1);
        const auto isIn = [&](std::size_t row) {
          return row >= firstRow && rows[row].ns >= range.beginNs && rows[row].ns < range.endNs;
        };
        std::map<int, std::int64_t> walked, found;
        for (std::size_t row = 0; row < tree.rows(); ++row) {
          if (isIn(row)) walked[rows[row].key] += rows[row].value;
        }
        std::size_t looked = 0;
        Sums sums;
        tree.query(
            range, firstRow, [&](const Sums& whole) { sums.add(whole); },
            [&](std::size_t first, std::size_t last) {
              QVERIFY(first >= firstRow && first < last);
              for (std::size_t row = first; row < last; ++row) {
                ++looked;
                if (isIn(row)) sums[rows[row].key].value += rows[row].value;
              }
            });
        for (const auto& [key, sum] : sums) found[key] = sum.value;
        QVERIFY(found == walked);
        // Only the ends of the range, and what strays, are looked at row by row.
        if (count == 5000) QVERIFY(looked < count / 4);
      }
    }
  }

  void sumsAreSortedByKey() {
    std::mt19937 random(4);
    for (int round = 0; round < 100; ++round) {
      Sums sums, other;
      std::map<int, std::int64_t> expected;
      for (int i = 0; i < 20; ++i) {
        const int key = static_cast<int>(random() % 30);
        Sums& one = random() % 2 == 0 ? sums : other;
        one[key].value += i;
        expected[key] += i;
      }
      sums.add(other);
      auto at = expected.begin();
      for (const auto& [key, sum] : sums) {
        QVERIFY(at != expected.end());
        QCOMPARE(key, at->first);
        QCOMPARE(sum.value, at->second);
        ++at;
      }
      QVERIFY(at == expected.end());
    }
  }
};

HIGHWATER_TEST(TestTotalsTree, QCoreApplication)
#include "tst_totals_tree.moc"
