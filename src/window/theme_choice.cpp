#include "window/theme_choice.h"

#include <QApplication>
#include <QDir>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>
#include <QStyleHints>

#include "views/theme.h"

namespace highwater::window {
namespace {

constexpr QLatin1String kFamily("Inter");

/// Adds the fonts that a wheel for Linux brings: a server often has none, and draws boxes for
/// letters.
void addOwnFonts() {
  const QDir folder(QCoreApplication::applicationDirPath() +
                    QStringLiteral("/../share/highwater/fonts"));
  for (const QString& name : folder.entryList({QStringLiteral("*.otf")}, QDir::Files)) {
    QFontDatabase::addApplicationFont(folder.filePath(name));
  }
}

QFont makeFont() {
  if (!QFontDatabase::families().contains(kFamily)) addOwnFonts();
  QFont made = QApplication::font();
  if (QFontDatabase::families().contains(kFamily)) made.setFamily(kFamily);
  made.setPixelSize(views::kText);
  made.setHintingPreference(QFont::PreferNoHinting);
  return made;
}

}  // namespace

bool systemIsDark() {
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
  const Qt::ColorScheme scheme = QGuiApplication::styleHints()->colorScheme();
  if (scheme != Qt::ColorScheme::Unknown) {
    return scheme == Qt::ColorScheme::Dark;
  }
#endif
  // Asked once, before our own palette replaces the platform's.
  static const bool dark = QPalette().color(QPalette::Window).lightness() < 128;
  return dark;
}

void applyTheme(ThemeChoice choice) {
#if QT_VERSION >= QT_VERSION_CHECK(6, 8, 0)
  // For what the platform draws: the title bar and its own dialogs.
  QStyleHints* hints = QGuiApplication::styleHints();
  if (choice == ThemeChoice::kSystem) {
    hints->unsetColorScheme();
  } else {
    hints->setColorScheme(choice == ThemeChoice::kDark ? Qt::ColorScheme::Dark
                                                       : Qt::ColorScheme::Light);
  }
#else
  // Before 6.8 Qt cannot tell the platform, so its own dialogs would keep the system's theme. What
  // the platform draws around the window does.
  const bool differs =
      choice != ThemeChoice::kSystem && (choice == ThemeChoice::kDark) != systemIsDark();
  QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs, differs);
#endif
  const bool dark =
      choice == ThemeChoice::kDark || (choice == ThemeChoice::kSystem && systemIsDark());
  static_cast<void>(systemIsDark());
  const views::Theme& theme = dark ? views::Theme::dark() : views::Theme::light();
  static const QFont font = makeFont();
  if (!QApplication::style() || QApplication::style()->objectName() != QLatin1String("fusion")) {
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  }
  QApplication::setFont(font);
  QApplication::setPalette(theme.palette());
  qApp->setStyleSheet(theme.styleSheet());
}

QString themeKey(ThemeChoice choice) {
  switch (choice) {
    case ThemeChoice::kLight:
      return QStringLiteral("light");
    case ThemeChoice::kDark:
      return QStringLiteral("dark");
    case ThemeChoice::kSystem:
      break;
  }
  return QStringLiteral("system");
}

ThemeChoice themeFromKey(const QString& key) {
  return key == QLatin1String("light")  ? ThemeChoice::kLight
         : key == QLatin1String("dark") ? ThemeChoice::kDark
                                        : ThemeChoice::kSystem;
}

}  // namespace highwater::window
