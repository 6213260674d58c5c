// Where windows can be shown.
#include <QTest>

#include "cli/terminal.h"
#include "support/test_program.h"

using namespace highwater;
using cli::Seat;

class TestTerminal : public QObject {
  Q_OBJECT

 private slots:
  void aMacShowsWindowsToWhoIsLoggedIn() {
    const Seat atDesk{.isMac = true, .isAtConsole = true};
    QVERIFY(cli::hasDisplay(atDesk) && cli::canShowWindow(atDesk));
    // Another user's session is in front; this one has a screen all the same.
    const Seat switchedAway{.isMac = true};
    QVERIFY(cli::hasDisplay(switchedAway) && cli::canShowWindow(switchedAway));
    const Seat bySsh{.isMac = true, .isBySsh = true, .isAtConsole = true};
    QVERIFY(!cli::hasDisplay(bySsh) && cli::canShowWindow(bySsh));
    const Seat nobodyThere{.isMac = true, .isBySsh = true};
    QVERIFY(!cli::hasDisplay(nobodyThere) && !cli::canShowWindow(nobodyThere));
    const Seat offscreen{.isMac = true, .isBySsh = true, .namesPlatform = true};
    QVERIFY(cli::hasDisplay(offscreen) && cli::canShowWindow(offscreen));
  }

  void elsewhereADisplayIsNamed() {
    const Seat forwarded{.isBySsh = true, .hasServer = true};
    QVERIFY(cli::hasDisplay(forwarded) && cli::canShowWindow(forwarded));
    const Seat none{.isAtConsole = true};  // as root in a container
    QVERIFY(!cli::hasDisplay(none) && !cli::canShowWindow(none));
  }
};

HIGHWATER_TEST(TestTerminal, QCoreApplication)
#include "tst_terminal.moc"
