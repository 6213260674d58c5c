#include "probe/stream/open_spans.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;

class TestOpenSpans : public QObject {
  Q_OBJECT
 private slots:
  void readsOpenSpans() {
    OpenSpanStack stack;
    OpenSpanStack::Views views;
    QCOMPARE(stack.read(views, 100), 0u);
    stack.push(10, 2);
    stack.push(20, 3);
    QCOMPARE(stack.read(views, 100), 2u);
    QCOMPARE(views[1].beginNs, std::int64_t{20});
    QCOMPARE(views[1].name, 3u);
    QCOMPARE(stack.read(views, 19), 1u);  // the inner one is too young
    stack.pop();
    QCOMPARE(stack.read(views, 100), 1u);
    stack.push(30, 4);
    QCOMPARE(stack.read(views, 100), 2u);
    QCOMPARE(views[1].name, 4u);
    stack.pop();
    stack.pop();
    stack.pop();  // one too many: an op that began before observation
    QCOMPARE(stack.depth(), 0u);
  }

  void takesAnEarlyBeginForItsParents() {
    OpenSpanStack stack;
    OpenSpanStack::Views views;
    stack.push(50, 2);
    stack.push(40, 3);
    QCOMPARE(stack.read(views, 100), 2u);
    QCOMPARE(views[1].beginNs, std::int64_t{50});
  }

  void survivesMoreThanItsDepth() {
    OpenSpanStack stack;
    OpenSpanStack::Views views;
    for (std::uint32_t i = 0; i < 100; ++i) stack.push(i, i);
    QCOMPARE(stack.depth(), 100u);
    QCOMPARE(stack.read(views, 100), OpenSpanStack::kMaxDepth);
    for (int i = 0; i < 99; ++i) stack.pop();
    QCOMPARE(stack.read(views, 100), 1u);
    QCOMPARE(views[0].beginNs, std::int64_t{0});
  }

  void showsOnlyWholeSpansToAnotherThread() {
    // Name and begin hold the same number, so that a mix of two spans would be detected.
    OpenSpanStack stack;
    std::atomic<bool> done{false};
    std::atomic<std::int64_t> past{0};  // later spans begin after this
    std::thread owner([&] {
      std::mt19937 random(5);
      std::int64_t now = 0;
      for (int i = 0; i < 2'000'000; ++i) {
        const bool grow = stack.depth() == 0 || (stack.depth() < 8 && random() % 2 == 0);
        if (grow) {
          ++now;
          stack.push(now, static_cast<NameId>(now));
          past = now;
        } else {
          stack.pop();
        }
      }
      done = true;
    });
    OpenSpanStack::Views views;
    bool whole = true, nested = true;
    std::uint64_t seen = 0;
    while (!done) {
      const std::uint32_t depth = stack.read(views, past);
      seen += depth;
      for (std::uint32_t i = 0; i < depth; ++i) {
        whole = whole && views[i].name == static_cast<NameId>(views[i].beginNs);
        nested = nested && (i == 0 || views[i].beginNs > views[i - 1].beginNs);
      }
    }
    owner.join();
    QVERIFY(seen > 1000);
    QVERIFY(whole);
    QVERIFY(nested);
  }
};

HIGHWATER_TEST(TestOpenSpans, QCoreApplication)
#include "tst_open_spans.moc"
