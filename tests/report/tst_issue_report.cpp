#include "report/issue_report.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using analysis::LiveStore;

namespace {

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

std::string issueOf(const test::SampleRunOptions& options,
                    const std::string& op = "aten::embedding_renorm_") {
  LiveStore store;
  test::feed(test::makeSampleRun(options), store);
  return report::fallbackIssue(store, op, "0.1.0");
}

}  // namespace

class TestIssueReport : public QObject {
  Q_OBJECT

 private slots:
  void saysWhatAnIssueNeeds() {
    const std::string issue = issueOf({.steps = 40, .opsFromStep = 5});
    QVERIFY2(has(issue, "### `aten::embedding_renorm_` falls back to the CPU on MPS"),
             issue.c_str());
    QVERIFY2(has(issue, "ran on the CPU 10 times in 10 training steps"), issue.c_str());
    QVERIFY2(has(issue, "**Shapes:** `[16, 64] float32`"), issue.c_str());
    QVERIFY2(has(issue, "**dtype of the model:** `float32`"), issue.c_str());
    QVERIFY2(has(issue, "**PyTorch:** 2."), issue.c_str());
    QVERIFY2(has(issue, "simulated MPS device"), issue.c_str());
    QVERIFY2(has(issue, "**Measured with:** Highwater 0.1.0"), issue.c_str());
    QVERIFY2(has(issue, "check on a Mac"), issue.c_str());
  }

  void saysWhatIsNotKnown() { QVERIFY(has(issueOf({.steps = 40}), "**Shapes:** not recorded")); }

  void thereIsNoneForAnOpThatDidNotFallBack() {
    QVERIFY(issueOf({.steps = 40}, "aten::mm").empty());
    QVERIFY(issueOf({.steps = 40, .fallbackEvery = 0}).empty());
  }

  /// A real Mac, and a name that tries to be markup.
  void namesAreNoMarkup() {
    LiveStore store;
    auto run = test::makeSampleRun({.steps = 8});
    for (auto& message : run) {
      if (auto* hello = std::get_if<Hello>(&message)) {
        hello->device.simulated = false;
        hello->platform = "macOS 14.5 arm64";
      }
      if (auto* definitions = std::get_if<Definitions>(&message)) {
        for (auto& name : definitions->names) {
          if (name.id == test::kRenorm) name.text = "a`b\n# c";
        }
      }
    }
    test::feed(run, store);
    const std::string issue = report::fallbackIssue(store, "a`b\n# c", "0.1.0");
    QVERIFY2(has(issue, "**System:** macOS 14.5 arm64\n"), issue.c_str());
    QVERIFY(!has(issue, "simulated"));
    QVERIFY2(!has(issue, "a`b") && !has(issue, "\n# c"), issue.c_str());
  }
};

HIGHWATER_TEST(TestIssueReport, QCoreApplication)
#include "tst_issue_report.moc"
