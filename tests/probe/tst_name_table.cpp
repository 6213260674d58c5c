#include <QTest>
#include <set>
#include <thread>
#include <vector>

#include "probe/name_table.h"
#include "probe/op_stack.h"
#include "wire/limits.h"

using namespace highwater;
using namespace highwater::probe;

class TestNameTable : public QObject {
  Q_OBJECT
 private slots:
  void knowsTextsByTheirContent();
  void definesEachTextOnce();
  void agreesBetweenThreads();
  void givesOtherPastItsCap();
  void cutsLongTexts();
  void cacheKnowsTagsAndSurvivesManyNames();
};

void TestNameTable::knowsTextsByTheirContent() {
  NameTable table;
  const std::string one = "aten::sum", two = "aten::sum";
  QCOMPARE(table.intern(one).id, table.intern(two).id);
  QVERIFY(table.intern("aten::add").id != table.intern(one).id);
  QCOMPARE(table.intern("").id, kNoId);
  QVERIFY(table.intern("a").id > kOtherId);
}

void TestNameTable::definesEachTextOnce() {
  NameTable table;
  const NameId a = table.intern("a").id;
  Definitions first;
  table.takeNew(first);
  QCOMPARE(first.names.size(), std::size_t{1});
  QCOMPARE(first.names[0].id, a);
  QCOMPARE(first.names[0].text, std::string("a"));
  (void)table.intern("a").id;
  QCOMPARE(table.addThread("worker"), ThreadId{1});
  Definitions second;
  table.takeNew(second);
  QVERIFY(second.names.empty());
  QCOMPARE(second.threads.size(), std::size_t{1});
}

void TestNameTable::agreesBetweenThreads() {
  NameTable table;
  std::vector<std::vector<NameId>> ids(4);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&table, &mine] {
      NameCache cache(table, [](std::string_view) { return std::uint8_t{0}; });
      for (int round = 0; round < 3; ++round) {
        mine.clear();
        for (int i = 0; i < 500; ++i) mine.push_back(cache.find("op" + std::to_string(i)).id);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& mine : ids) QCOMPARE(mine, ids[0]);
  QCOMPARE(std::set<NameId>(ids[0].begin(), ids[0].end()).size(), std::size_t{500});
}

void TestNameTable::givesOtherPastItsCap() {
  NameTable table;
  for (NameId i = kOtherId + 1; i < kMaxNames; ++i) {
    QVERIFY(table.intern(std::to_string(i)).id != kOtherId);
  }
  QCOMPARE(table.intern("one more").id, kOtherId);
  QVERIFY(table.intern("5").id != kOtherId);
  for (int i = 1; i < static_cast<int>(kMaxThreads); ++i) QVERIFY(table.addThread("t") != 0);
  QCOMPARE(table.addThread("t"), ThreadId{0});
}

void TestNameTable::cutsLongTexts() {
  NameTable table;
  (void)table.intern(std::string(wire::kMaxTextBytes + 5, 'x')).id;
  Definitions definitions;
  table.takeNew(definitions);
  QCOMPARE(definitions.names[0].text.size(), wire::kMaxTextBytes);
}

void TestNameTable::cacheKnowsTagsAndSurvivesManyNames() {
  NameTable table;
  NameCache cache(table, [](std::string_view text) { return static_cast<std::uint8_t>(text[0]); });
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5'000; ++i) {  // more than it has room for
      const std::string name = (i % 2 ? "x" : "y") + std::to_string(i);
      const auto entry = cache.find(name);
      QCOMPARE(entry.id, table.intern(name).id);
      QCOMPARE(entry.tag, static_cast<std::uint8_t>(name[0]));
      QCOMPARE(entry.text, std::string_view(name));
    }
  }
}

QTEST_GUILESS_MAIN(TestNameTable)
#include "tst_name_table.moc"
