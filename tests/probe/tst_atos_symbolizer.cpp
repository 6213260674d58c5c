// The symbolizer of macOS with stand-ins for `atos`: one that answers with addr2line's knowledge of
// this program in the form of `atos`, and scripts that fail in the ways a tool can.
#include <dlfcn.h>

#include "probe/call_sites/atos_symbolizer.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

namespace {

// Returns an address in itself, so that line and function are known.
extern "C" __attribute__((noinline, used)) const void* placeInside() {
  return __builtin_extract_return_addr(__builtin_return_address(0));
}

extern "C" __attribute__((noinline, used)) const void* atosCallerOne() {
  const void* address = placeInside();
  asm volatile("" : : "r"(address) : "memory");  // no tail call
  return address;
}

extern "C" __attribute__((noinline, used)) const void* atosCallerTwo() {
  const void* address = placeInside();
  asm volatile("" : : "r"(address) : "memory");
  return address;
}

bool never() {
  return false;
}

/// As CallSiteNamer asks.
std::vector<SourcePlace> placesOf(AtosSymbolizer& symbolizer, const void* address,
                                  const Symbolizer::IsStopped& isStopped = &never) {
  symbolizer.prepare({&address, 1}, isStopped);
  return symbolizer.placesOf(address);
}

QByteArray functionOf(const std::vector<SourcePlace>& places) {
  return places.empty() ? QByteArray() : QByteArray::fromStdString(places[0].function);
}

}  // namespace

class TestAtosSymbolizer : public QObject {
  Q_OBJECT

 private slots:
  void readsLines_data() {
    QTest::addColumn<QByteArray>("line");
    QTest::addColumn<QByteArray>("function");
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<int>("number");
    const auto row = [](const char* name, const char* line, const char* function, const char* file,
                        int number) {
      QTest::newRow(name) << QByteArray(line) << QByteArray(function) << QByteArray(file) << number;
    };
    row("source", "main (in train) (/code/my project/train.cpp:12)", "main",
        "/code/my project/train.cpp", 12);
    row("symbol only", "at::Tensor::item() const (in libtorch_cpu.dylib) + 44", "at::Tensor::item",
        "", 0);
    row("template", "float at::Tensor::item<float>() const (in libtorch.dylib) (/t/Tensor.h:123)",
        "at::Tensor::item", "/t/Tensor.h", 123);
    row("lambda", "(anonymous namespace)::run(int)::$_0::operator()() const (in w) (/w/run.cpp:7)",
        "(anonymous namespace)::run(int)::$_0::operator()", "/w/run.cpp", 7);
    row("Objective-C", "-[MPSGraph encode:to:] (in MetalPerformanceShadersGraph) + 8",
        "-[MPSGraph encode:to:]", "", 0);
    row("made up by the compiler", "f() (in w) (<compiler-generated>:0)", "f", "", 0);
    row("colons in the path", "f() (in w) (/a:b/c.cpp:3)", "f", "/a:b/c.cpp", 3);
    row("no number", "f() (in w) (/a/c.cpp:x)", "f", "", 0);
    row("no symbol", "0x0000000100003f20 (in w) + 32", "", "", 0);
    row("not in the library", "0x100003f20", "", "", 0);
    row("empty", "", "", "", 0);
  }

  void readsLines() {
    QFETCH(QByteArray, line);
    QFETCH(QByteArray, function);
    QFETCH(QByteArray, file);
    QFETCH(int, number);
    const auto places = placesFromAtos(line.toStdString());
    QCOMPARE(places.size(), std::size_t(function.isEmpty() ? 0 : 1));
    if (places.empty()) return;
    QCOMPARE(functionOf(places), function);
    QCOMPARE(QByteArray::fromStdString(places[0].file), file);
    QCOMPARE(int(places[0].line), number);
  }

  void readsInlinedFunctions() {
    const auto places =
        placesFromAtos("inner() (in w) (/w/a.h:1)\tmiddle() (in w) (/w/b.h:2)\touter() (in w) + 4");
    QCOMPARE(places.size(), std::size_t(3));
    QCOMPARE(functionOf(places), QByteArray("inner"));
    QCOMPARE(places[1].line, 2U);
    QCOMPARE(QByteArray::fromStdString(places[2].function), QByteArray("outer"));
  }

  void asksForManyAtOnce() {
    // Arguments: -o FILE -arch A -l BASE -fullPath -i -d TAB ADDRESS...
    AtosSymbolizer symbolizer(tool(R"sh(
file=$2 base=$6
shift 10
for address in "$@"; do
  addr2line -f -C -e "$file" $(printf '0x%x' $((address - base))) |
    { read -r function; read -r place; echo "$function (in program) ($place)";
}
done
)sh"));
    const std::array<const void*, 2> addresses = {atosCallerOne(), atosCallerTwo()};
    symbolizer.prepare(addresses, &never);
    QCOMPARE(calls().size(), 1);
    QVERIFY2(calls()[0].contains(" -fullPath -i -d "), calls()[0].constData());
    const auto one = symbolizer.placesOf(addresses[0]), two = symbolizer.placesOf(addresses[1]);
    QCOMPARE(functionOf(one), QByteArray("atosCallerOne"));
    QCOMPARE(functionOf(two), QByteArray("atosCallerTwo"));
    QVERIFY(QByteArray::fromStdString(one[0].file).endsWith("tst_atos_symbolizer.cpp"));
    QVERIFY(one[0].line > 0 && one[0].line < two[0].line);
    QCOMPARE(calls().size(), 1);
  }

  void asksOnceForWhatIsUnknown() {
    AtosSymbolizer symbolizer(tool("echo 0x100003f20\n"));
    const void* address = atosCallerOne();
    const auto byLinker = placesByLinker(address);
    for (int i = 0; i < 3; ++i)
      QCOMPARE(functionOf(placesOf(symbolizer, address)), functionOf(byLinker));
    QCOMPARE(calls().size(), 1);
  }

  void doesWithoutInlinedFunctions() {
    AtosSymbolizer symbolizer(tool(R"sh(
case "$*" in *" -i "*) echo "inner() (in w) (/w/a.h:1)";; esac
echo "outer() (in w) (/w/b.h:2)"
)sh"));
    const auto places = placesOf(symbolizer, atosCallerOne());
    QCOMPARE(functionOf(places), QByteArray("outer"));
    QCOMPARE(calls().size(), 2);
  }

  void fallsBackToTheLinker_data() {
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<bool>("ofLibrary");  // the reason may be the library
    const QByteArray line = "main (in w) (/w/main.cpp:1)";
    QTest::newRow("it fails") << QByteArray("echo '" + line + "'\nexit 1\n") << true;
    QTest::newRow("it ends by a signal") << QByteArray("kill -9 $$\n") << true;
    QTest::newRow("it says nothing") << QByteArray("exit 0\n") << true;
    QTest::newRow("it says too much") << QByteArray("yes '" + line + "' | head -9\n") << true;
    QTest::newRow("it never answers") << QByteArray("exec sleep 600\n") << false;
    QTest::newRow("it is not there") << QByteArray() << false;
  }

  void fallsBackToTheLinker() {
    QFETCH(QByteArray, body);
    QFETCH(bool, ofLibrary);
    std::string path = tool(body);
    if (body.isEmpty()) path += "-missing";
    AtosSymbolizer symbolizer(path, 500ms);
    const void* address = reinterpret_cast<const char*>(&std::strlen) + 1;
    const auto byLinker = placesByLinker(address);
    QVERIFY(!byLinker.empty());
    const auto places = placesOf(symbolizer, address);
    QCOMPARE(functionOf(places), functionOf(byLinker));
    QCOMPARE(places[0].file, byLinker[0].file);
    // It is not asked for this library again, and for another one only if that may help.
    const qsizetype count = calls().size();
    (void)placesOf(symbolizer, static_cast<const char*>(address) + 1);
    QCOMPARE(calls().size(), count);
    (void)placesOf(symbolizer, atosCallerOne());
    QCOMPARE(calls().size() > count, ofLibrary);
  }

  void endsWhenItIsStopped() {
    AtosSymbolizer symbolizer(tool("exec sleep 600\n"), 600s);
    const void* address = atosCallerOne();
    // The tool runs from the second look on, and the third follows while it does.
    int looks = 0;
    const auto places = placesOf(symbolizer, address, [&looks] { return ++looks > 2; });
    QVERIFY(looks > 2);
    QCOMPARE(functionOf(places), functionOf(placesByLinker(address)));
  }

  void findsTheSelectedTools() {
    const QTemporaryDir root;
    const std::string path = root.path().toStdString();
    QVERIFY(findAtos(path).empty());
    const auto add = [&](const QString& tools) {
      const QString bin = root.path() + tools + "/usr/bin";
      QFile file(bin + "/atos");
      return QDir().mkpath(bin) && file.open(QIODevice::WriteOnly) &&
             file.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
    };
    QVERIFY(add("/Library/Developer/CommandLineTools"));
    QCOMPARE(findAtos(path), path + "/Library/Developer/CommandLineTools/usr/bin/atos");
    QVERIFY(add("/Applications/Other.app/Contents/Developer"));
    QVERIFY(QDir().mkpath(root.path() + "/var/db"));
    QVERIFY(QFile::link(root.path() + "/Applications/Other.app/Contents/Developer",
                        root.path() + "/var/db/xcode_select_link"));
    QCOMPARE(findAtos(path), path + "/var/db/xcode_select_link/usr/bin/atos");
  }

 private:
  /// A program that writes its arguments to `calls` and then does what `body` says, in sh.
  std::string tool(const QByteArray& body) {
    QFile::remove(folder_.filePath("calls"));
    QFile file(folder_.filePath("atos"));
    if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate)) return {};
    file.write("#!/bin/sh\necho \"$@\" >> '" + folder_.filePath("calls").toUtf8() + "'\n" + body);
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return file.fileName().toStdString();
  }

  [[nodiscard]] QList<QByteArray> calls() const {
    QFile file(folder_.filePath("calls"));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return file.readAll().trimmed().split('\n');
  }

  QTemporaryDir folder_;
};

HIGHWATER_TEST(TestAtosSymbolizer, QCoreApplication)
#include "tst_atos_symbolizer.moc"
