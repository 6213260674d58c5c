#include "core/fallback_advice.h"
#include "support/test_program.h"

using namespace highwater;

class TestFallbackAdvice : public QObject {
  Q_OBJECT

 private slots:
  void namesTheWayAroundAnOpThatIsKnown() {
    QVERIFY(fallbackAdvice("aten::embedding_renorm_").find("max_norm") != std::string_view::npos);
    QVERIFY(fallbackAdvice("aten::multi_margin_loss").find("clamp") != std::string_view::npos);
    QVERIFY(fallbackAdvice("aten::_pdist_forward").find("triu_indices") != std::string_view::npos);
    QCOMPARE(fallbackAdvice("aten::multi_margin_loss_backward"),
             fallbackAdvice("aten::multi_margin_loss"));
  }
  void hasAdviceForEveryOp() {
    QVERIFY(fallbackAdvice("aten::no_such_op").find("MPS kernel") != std::string_view::npos);
    QVERIFY(!fallbackAdvice({}).empty());
  }
};

HIGHWATER_TEST(TestFallbackAdvice, QCoreApplication)
#include "tst_fallback_advice.moc"
