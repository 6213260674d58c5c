#include "probe/observer/name_table.h"
#include "probe/observer/op_stack.h"
#include "probe/observer/shape_texts.h"
#include "support/test_program.h"
#include "wire/limits.h"

using namespace highwater;
using namespace highwater::probe;

class TestNameTable : public QObject {
  Q_OBJECT
 private slots:
  void definesEachTextOnce() {
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

  void aNameHasAnIdForEachCallSite() {
    NameTable table;
    const NameId plain = table.intern("evaluation").id;
    const NameId here = table.internAt("evaluation", 7);
    QCOMPARE(table.internAt("evaluation", 7), here);
    QCOMPARE(table.internAt("evaluation", kNoId), plain);
    QVERIFY(here != plain && here != table.internAt("evaluation", 8));
    Definitions all;
    table.takeNew(all);
    QCOMPARE(all.names.size(), std::size_t{3});
    QCOMPARE(all.names[1].text, std::string("evaluation"));
    QCOMPARE(all.names[1].callSite, CallSiteId{7});
  }

  void sharesIdsBetweenThreads() {
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

  void returnsOtherIdPastTheCap() {
    NameTable table;
    for (NameId i = kOtherId + 1; i < kMaxNames; ++i) {
      QVERIFY(table.intern(std::to_string(i)).id != kOtherId);
    }
    QCOMPARE(table.intern("one more").id, kOtherId);
    QVERIFY(table.intern("5").id != kOtherId);
    for (int i = 1; i < static_cast<int>(kMaxThreads); ++i) QVERIFY(table.addThread("t") != 0);
    QCOMPARE(table.addThread("t"), ThreadId{0});
  }

  /// A script may put any number of long texts into its marks.
  void staysWithinTheBytesOfAStream() {
    NameTable table;
    const std::string rest(wire::kMaxTextBytes - 8, 'x');
    std::size_t bytes = 0;
    for (int i = 0; table.intern(std::to_string(i) + rest).id != kOtherId; ++i) {
      bytes += rest.size();
      QVERIFY(bytes < wire::kMaxDefinitionBytes);
    }
    QVERIFY(bytes > wire::kMaxDefinitionBytes / 4);
  }

  void cutsLongTexts() {
    NameTable table;
    (void)table.intern(std::string(wire::kMaxTextBytes + 5, 'x')).id;
    Definitions definitions;
    table.takeNew(definitions);
    QCOMPARE(definitions.names[0].text.size(), wire::kMaxTextBytes);
  }

  void cacheKeepsTagsWhenFull() {
    NameTable table;
    NameCache cache(table,
                    [](std::string_view text) { return static_cast<std::uint8_t>(text[0]); });
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

  void cacheComparesContentAtAnAddress() {
    NameTable table;
    NameCache cache(table, [](std::string_view) { return std::uint8_t{0}; });
    const auto find = [&](const char* text) { return cache.find(text, [] { return false; }).id; };
    char text[] = "aten::add_";
    const NameId inPlace = find(text);
    text[9] = '\0';
    const NameId shorter = find(text);
    QVERIFY(shorter != inPlace);
    QCOMPARE(shorter, table.intern("aten::add").id);
    text[9] = '_';
    QCOMPARE(find(text), inPlace);
  }

  void cacheForgetsAddresses() {
    NameTable table;
    NameCache cache(table, [](std::string_view) { return std::uint8_t{0}; });
    char text[] = "aten::add_";
    NameCache::Entry& entry = cache.find(text, [] { return true; });
    QCOMPARE(cache.findByAddress(text), &entry);
    text[9] = '\0';  // another operator's name, where the first one's was
    cache.forgetAddresses();
    QCOMPARE(cache.findByAddress(text), nullptr);
    QCOMPARE(cache.find(text, [] { return true; }).id, table.intern("aten::add").id);
    QCOMPARE(entry.text, std::string_view("aten::add_"));
  }

  void reservesIdsForNames() {
    NameTable table;
    NameId last = kNoId;
    for (std::uint32_t i = 0; i < kMaxNames; ++i) {
      last = table.internBulk("[" + std::to_string(i) + "] float32");
    }
    QCOMPARE(last, kOtherId);
    QVERIFY(table.intern("aten::add").id > kOtherId);
  }

  void cachesShapesByHash() {
    NameTable table;
    ShapeTexts texts(table);
    using Sizes = std::vector<std::int64_t>;
    const auto hashOf = [](const std::vector<std::pair<Sizes, std::uint8_t>>& shapes) {
      ShapeHash hash;
      for (const auto& [sizes, dtype] : shapes) hash.add({sizes, dtype});
      return hash.value();
    };
    std::string text;
    const Sizes sizes = {2, 3}, scalar = {};
    appendShape(text, sizes, "int64");
    appendShape(text, scalar, "float32");
    QCOMPARE(text, std::string("[2, 3] int64, [] float32"));
    int written = 0;
    const auto find = [&](std::uint64_t hash) {
      return texts.find(hash, [&] {
        ++written;
        return text;
      });
    };
    const auto hash = hashOf({{sizes, 4}, {scalar, 6}});
    QCOMPARE(find(hash), find(hash));
    QCOMPARE(written, 1);
    const std::set<std::uint64_t> others = {hash,
                                            hashOf({{{2}, 4}, {{3}, 4}}),
                                            hashOf({{{2, 3}, 4}}),
                                            hashOf({{{3, 2}, 4}}),
                                            hashOf({{{2, 3}, 5}}),
                                            hashOf({{{}, 6}, {{2, 3}, 4}})};
    QCOMPARE(others.size(), std::size_t{6});
  }
};

HIGHWATER_TEST(TestNameTable, QCoreApplication)
#include "tst_name_table.moc"
