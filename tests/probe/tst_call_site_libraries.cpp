#include <dlfcn.h>

#include "core/definition_table.h"
#include "place_library.h"
#include "probe/call_sites/call_sites.h"
#include "support/test_program.h"

// Call sites in libraries that are loaded and unloaded, and behind many frames of a library.

using namespace highwater;
using namespace highwater::probe;

namespace {

/// Loads a library for the life of this object.
class Library {
 public:
  Library(const QString& path, const char* function)
      : handle_(::dlopen(qPrintable(path), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) qFatal("%s", ::dlerror());
    visit = reinterpret_cast<Visit>(::dlsym(handle_, function));
    if (!visit) qFatal("%s", ::dlerror());
  }
  ~Library() { ::dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  Visit visit = nullptr;

 private:
  void* handle_;
};

[[gnu::noinline]] std::uint32_t callerOf(void* cache) {
  const CallSiteId id = static_cast<CallSiteCache*>(cache)->here(__builtin_return_address(0));
  asm volatile("" ::: "memory");
  return id;
}

std::string nameOf(CallSites& sites, CallSiteId id) {
  Definitions definitions;
  sites.takeNew(definitions);
  DefinitionTable table;
  table.add(definitions);
  return table.callSite(id);
}

}  // namespace

class TestCallSiteLibraries : public QObject {
  Q_OBJECT
 private slots:
  void findsTheUserBehindManyFrames() {
    CallSites sites;
    sites.ignoreLibrary("libplace_library");
    CallSiteCache cache(sites);
    const Library library(PLACE_LIBRARY_FIRST, "firstVisit");
    for (const int depth : {10, 100, 200}) {
      QVERIFY2(library.visit(depth, &callerOf, &cache) > kOtherId,
               qPrintable(QString::number(depth)));
    }
  }

  void distinguishesALibraryFromItsPredecessor() {
    struct {
      const char *path, *function;
      Visit visit = nullptr;
      CallSiteId id = kNoId;
      std::string name = {};
    } libraries[] = {{PLACE_LIBRARY_FIRST, "firstVisit"}, {PLACE_LIBRARY_OTHER, "otherVisit"}};
    CallSites sites;
    CallSiteCache cache(sites);
    for (auto& each : libraries) {  // called from one place, so that both stacks are the same
      const Library library(each.path, each.function);
      sites.noticeUnloads();
      each.visit = library.visit;
      each.id = library.visit(0, &callerOf, &cache);
      each.name = nameOf(sites, each.id);
    }
    if (libraries[1].visit != libraries[0].visit) QSKIP("they were loaded at different addresses");
    QVERIFY(libraries[1].id != libraries[0].id);
    for (const auto& each : libraries) {
      QVERIFY2(each.name.find(each.function) != std::string::npos, each.name.c_str());
    }
  }

  void keepsIdsOfLoadedLibraries() {
    CallSites sites;
    CallSiteCache cache(sites);
    const Library stays(PLACE_LIBRARY_FIRST, "firstVisit");
    std::array<CallSiteId, 2> ids{};
    for (CallSiteId& id : ids) {
      id = stays.visit(0, &callerOf, &cache);
      { const Library goes(PLACE_LIBRARY_OTHER, "otherVisit"); }
      sites.noticeUnloads();
    }
    QVERIFY(ids[0] > kOtherId);
    QCOMPARE(ids[1], ids[0]);
  }

  void symbolizesDeletedLibraries() {
    const QTemporaryDir folder;
    const QString copy = folder.filePath("libdeleted.so");
    QVERIFY(QFile::copy(PLACE_LIBRARY_FIRST, copy));
    const Library library(copy, "firstVisit");
    QVERIFY(QFile::remove(copy));
    const auto* function = reinterpret_cast<const char*>(library.visit);
    const auto places = makeSymbolizer()->placesOf(function + 1);
    QVERIFY(!places.empty());
    QCOMPARE(QByteArray::fromStdString(places[0].function), QByteArray("firstVisit"));
  }
};

HIGHWATER_TEST(TestCallSiteLibraries, QCoreApplication)
#include "tst_call_site_libraries.moc"
