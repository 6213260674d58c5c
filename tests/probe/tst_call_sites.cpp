#include <fstream>

#include "core/definition_table.h"
#include "counted_calls.h"
#include "probe/call_sites/call_sites.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;

// Not inlined and not a tail call, so that it has a frame. Exported: without debug information only
// such functions can be symbolized.
#define FRAME [[gnu::noinline, gnu::visibility("default")]]

namespace places {

FRAME CallSiteId placeOfCaller(CallSiteCache& cache) {
  const CallSiteId id = cache.here(__builtin_return_address(0));
  asm volatile("" ::: "memory");
  return id;
}

FRAME CallSiteId innerFunction(CallSiteCache& cache) {
  const CallSiteId id = placeOfCaller(cache);
  asm volatile("" ::: "memory");
  return id;
}

FRAME CallSiteId outerFunction(CallSiteCache& cache, bool otherPlace) {
  const CallSiteId id = otherPlace ? innerFunction(cache) : CallSiteId{innerFunction(cache)};
  asm volatile("" ::: "memory");
  return id;
}

}  // namespace places

using places::outerFunction;

class TestCallSites : public QObject {
  Q_OBJECT
 private slots:
  void namesFunctionFileAndLine() {
    CallSites sites;
    CallSiteCache cache(sites);
    const CallSiteId id = outerFunction(cache, false);
    QVERIFY(id > kOtherId);
    Definitions definitions;
    sites.takeNew(definitions);
    DefinitionTable table;
    table.add(definitions);
    const std::string stack = table.callStack(id);
    QVERIFY2(stack.find("innerFunction") != std::string::npos, stack.c_str());
    QVERIFY2(stack.find("outerFunction") > stack.find("innerFunction"), stack.c_str());
    QVERIFY2(stack.find("placeOfCaller") == std::string::npos, stack.c_str());
#if defined(CALL_SITES_HAVE_LINES)
    QVERIFY2(stack.rfind("tst_call_sites.cpp:", 0) == 0, stack.c_str());
#else
    QVERIFY2(stack.rfind("tst_probe (", 0) == 0, stack.c_str());
#endif
  }

  void distinguishesCallers() {
    CallSites sites;
    CallSiteCache cache(sites);
    const CallSiteId one = outerFunction(cache, false);
    const CallSiteId other = outerFunction(cache, true);
    QVERIFY(one != other);
    Definitions definitions;
    sites.takeNew(definitions);
    // A parent comes before its child, and each id is defined once.
    std::vector<CallSiteId> known = {kNoId};
    for (const CallSiteDefinition& each : definitions.callSites) {
      QVERIFY(std::find(known.begin(), known.end(), each.parent) != known.end());
      QVERIFY(std::find(known.begin(), known.end(), each.id) == known.end());
      known.push_back(each.id);
    }
  }

  void definesEachPlaceOnce() {
    CallSites sites;
    CallSiteCache first(sites), second(sites);
    std::vector<CallSiteId> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(outerFunction(i % 2 ? first : second, true));
    QCOMPARE(std::count(ids.begin(), ids.end(), ids[0]), std::ptrdiff_t{6});
    Definitions definitions, none;
    sites.takeNew(definitions);
    QVERIFY(!definitions.callSites.empty());
    sites.takeNew(none);
    QVERIFY(none.empty());
  }

  void linesOfKnownPlacesHaveTheirText() {
    QTemporaryDir folder;
    const std::string file = folder.filePath("train.py").toStdString();
    std::ofstream(file) << "def log(loss):\n    print(loss.item())\n\nlog(step())\n";
    CallSites sites;
    const CallSiteId id = sites.internPlaces({{"log", file, 2}, {"<module>", file, 4}});
    Definitions definitions;
    sites.takeNew(definitions);
    QCOMPARE(definitions.callSites.size(), std::size_t{2});
    QCOMPARE(definitions.callSites[0].text, std::string("log(step())"));
    QCOMPARE(definitions.callSites[1].id, id);
    QCOMPARE(definitions.callSites[1].text, std::string("print(loss.item())"));
  }

  void sharesOuterFrames() {
    CallSites sites;
    CallSiteCache cache(sites);
    const CallSiteId one = outerFunction(cache, false);
    const CallSiteId other = outerFunction(cache, true);
    Definitions first, second;
    QVERIFY(sites.takeNew(first, 1));
    QVERIFY(!sites.takeNew(second, 1000'000));
    QCOMPARE(first.callSites.back().id, one);
    QCOMPARE(second.callSites.back().id, other);
  }

  void symbolizesLibrariesLoadedLater() {
#if defined(__linux__)
    const auto symbolizer = makeSymbolizer();
    (void)symbolizer->placesOf(reinterpret_cast<const void*>(&std::strlen));
    // A library of the C library's package that programs are not linked with.
    void* library = ::dlopen("libthread_db.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) QSKIP("there is no libthread_db.so.1 to load");
    const auto* function = static_cast<const char*>(::dlsym(library, "td_init"));
    QVERIFY(function);
    const auto places = symbolizer->placesOf(function + 1);
    QVERIFY(!places.empty());
    QCOMPARE(QByteArray::fromStdString(places[0].function), QByteArray("td_init"));
#endif
  }

  void ignoresLibraries() {
    CallSites sites;
    sites.ignoreLibrary("tst_probe");
    CallSiteCache cache(sites);
    Definitions definitions;
    if (outerFunction(cache, false) != kNoId) sites.takeNew(definitions);
    for (const CallSiteDefinition& each : definitions.callSites) {
      QVERIFY2(each.function.find("Function") == std::string::npos, each.function.c_str());
    }
  }

  void hitsNeitherAllocateNorLock() {
    CallSites sites;
    CallSiteCache cache(sites);
    // From one place; the first time it is new.
    for (int i = 0; i < 100; ++i) {
      if (i == 1) allocations = locks = 0;
      counting = i > 0;
      (void)outerFunction(cache, false);
      counting = false;
    }
    QCOMPARE(allocations.load(), 0);
    QCOMPARE(locks.load(), 0);
  }

  void cutsNames_data() {
    QTest::addColumn<QString>("symbol");
    QTest::addColumn<QString>("name");
    QTest::newRow("template") << "_ZNK2at6Tensor4itemIfEET_v"
                              << "at::Tensor::item";
    QTest::newRow("plain C") << "main"
                             << "main";
    QTest::newRow("arguments") << "_ZN9highwater5probe9CallSites4hereEPKv"
                               << "highwater::probe::CallSites::here";
    QTest::newRow("operator") << "_ZN1AclEi"
                              << "A::operator()";
    QTest::newRow("conversion") << "_ZNK1AcvyEv"
                                << "A::operator unsigned long long";
    QTest::newRow("C name like a type") << "f"
                                        << "f";
    QTest::newRow("anonymous") << "_ZN12_GLOBAL__N_13fooEv"
                               << "(anonymous namespace)::foo";
    QTest::newRow("nothing") << ""
                             << "";
  }

  void cutsNames() {
    QFETCH(QString, symbol);
    QTEST(QString::fromStdString(functionName(symbol.toUtf8().constData())), "name");
  }
};

HIGHWATER_TEST(TestCallSites, QCoreApplication)
#include "tst_call_sites.moc"
