#include "views/theme.h"

#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QWidget>

/// Registers the resources of this static library. The macro requires the global namespace.
static void initResources() {
  Q_INIT_RESOURCE(highwater);
}

namespace highwater::views {
namespace {

QColor withAlpha(QColor color, double alpha) {
  color.setAlphaF(static_cast<float>(alpha));
  return color;
}

Theme makeDark() {
  Theme t;
  t.isDark = true;
  t.plot = QColor(0x12, 0x14, 0x17);
  t.panel = QColor(0x1A, 0x1D, 0x21);
  t.header = QColor(0x1F, 0x23, 0x27);
  t.control = QColor(0x28, 0x2D, 0x33);
  t.controlBorder = QColor(0x3A, 0x41, 0x49);
  t.track = QColor(0x2A, 0x30, 0x36);
  t.stepBox = QColor(0x26, 0x2B, 0x31);
  t.separator = QColor(0x2A, 0x2F, 0x35);
  t.strongLine = QColor(0x3A, 0x40, 0x48);
  t.text1 = QColor(0xE4, 0xE7, 0xEA);
  t.text2 = QColor(0xA7, 0xAF, 0xB8);
  t.text3 = QColor(0x83, 0x8C, 0x96);
  t.grid = QColor(0x20, 0x24, 0x2A);
  t.shelf = QColor(0x19, 0x1C, 0x20);
  t.accent = QColor(0x8B, 0x93, 0xFF);
  t.accentFill = QColor(0x5A, 0x63, 0xE0);
  t.selectionTint = withAlpha(t.accent, 0.13);
  t.selectedRow = QColor(0x2A, 0x2D, 0x4A);
  t.busy = QColor(0x6C, 0x76, 0x81);
  t.neutralBar = QColor(0x59, 0x63, 0x6E);
  t.blue = QColor(0x24, 0x79, 0xB4);
  t.sky = QColor(0x56, 0xB4, 0xE9);
  t.green = QColor(0x1F, 0xA6, 0x7F);
  t.yellow = QColor(0xE5, 0xD8, 0x4A);
  t.orange = QColor(0xE6, 0x9F, 0x00);
  t.vermillion = QColor(0xE8, 0x68, 0x1A);
  t.purple = QColor(0xCC, 0x79, 0xA7);
  t.grey = QColor(0x7B, 0x85, 0x90);
  t.orangeText = QColor(0xF0, 0xB2, 0x3A);
  t.vermillionText = QColor(0xF5, 0x8B, 0x4C);
  return t;
}

Theme makeLight() {
  Theme t;
  t.isDark = false;
  t.plot = QColor(0xFF, 0xFF, 0xFF);
  t.panel = QColor(0xF7, 0xF8, 0xF9);
  t.header = QColor(0xF0, 0xF2, 0xF4);
  t.control = QColor(0xFF, 0xFF, 0xFF);
  t.controlBorder = QColor(0xCB, 0xD1, 0xD8);
  t.track = QColor(0xE0, 0xE4, 0xE9);
  t.stepBox = QColor(0xE6, 0xE9, 0xED);
  t.separator = QColor(0xDA, 0xDE, 0xE3);
  t.strongLine = QColor(0xC3, 0xC9, 0xD0);
  t.text1 = QColor(0x1B, 0x1F, 0x24);
  t.text2 = QColor(0x50, 0x5A, 0x65);
  t.text3 = QColor(0x61, 0x6B, 0x76);
  t.grid = QColor(0xEE, 0xF0, 0xF2);
  t.shelf = QColor(0xF3, 0xF4, 0xF6);
  t.accent = QColor(0x4A, 0x51, 0xD6);
  t.accentFill = QColor(0x4A, 0x51, 0xD6);
  t.selectionTint = withAlpha(t.accent, 0.09);
  t.selectedRow = QColor(0xE3, 0xE5, 0xFA);
  t.busy = QColor(0x7F, 0x89, 0x94);
  t.neutralBar = QColor(0x8C, 0x96, 0xA1);
  t.blue = QColor(0x00, 0x72, 0xB2);
  t.sky = QColor(0x56, 0xB4, 0xE9);
  t.green = QColor(0x00, 0x9E, 0x73);
  t.yellow = QColor(0xE3, 0xD5, 0x32);
  t.orange = QColor(0xE6, 0x9F, 0x00);
  t.vermillion = QColor(0xD5, 0x5E, 0x00);
  t.purple = QColor(0xCC, 0x79, 0xA7);
  t.grey = QColor(0x8A, 0x93, 0x9D);
  t.orangeText = QColor(0x8F, 0x60, 0x00);
  t.vermillionText = QColor(0xB8, 0x4F, 0x00);
  return t;
}

}  // namespace

const Theme& Theme::dark() {
  static const Theme theme = makeDark();
  return theme;
}

const Theme& Theme::light() {
  static const Theme theme = makeLight();
  return theme;
}

const Theme& Theme::of(const QWidget* widget) {
  const QPalette palette = widget ? widget->palette() : QApplication::palette();
  return palette.color(QPalette::WindowText).lightness() > 128 ? dark() : light();
}

/// Okabe and Ito's hues, at lightnesses so far apart that phases differ in greyscale too: grey
/// levels (qGray) of 214, 156, 74, 131, 100 and 188.
QColor Theme::phase(events::Phase phase) const {
  switch (phase) {
    case events::Phase::BatchAssembly:
      return {0xF6, 0xEC, 0x4E};
    case events::Phase::DeviceMove:
      return {0x56, 0xB4, 0xE9};
    case events::Phase::Forward:
      return {0x00, 0x62, 0xA0};
    case events::Phase::LossRead:
      return {0xCC, 0x7A, 0x00};
    case events::Phase::Backward:
      return {0x0A, 0x9E, 0x72};
    case events::Phase::OptimizerStep:
      return {0xDE, 0xA3, 0xC4};
    case events::Phase::None:
      break;
  }
  return grey;
}

QPalette Theme::palette() const {
  QPalette p;
  p.setColor(QPalette::Window, panel);
  p.setColor(QPalette::WindowText, text1);
  p.setColor(QPalette::Base, plot);
  p.setColor(QPalette::AlternateBase, panel);
  p.setColor(QPalette::Text, text1);
  p.setColor(QPalette::PlaceholderText, text3);
  p.setColor(QPalette::Button, control);
  p.setColor(QPalette::ButtonText, text1);
  p.setColor(QPalette::BrightText, text1);
  p.setColor(QPalette::ToolTipBase, header);
  p.setColor(QPalette::ToolTipText, text1);
  p.setColor(QPalette::Highlight, accentFill);
  p.setColor(QPalette::HighlightedText, QColor(0xFF, 0xFF, 0xFF));
  p.setColor(QPalette::Link, accent);
  p.setColor(QPalette::LinkVisited, accent);
  p.setColor(QPalette::Light, strongLine);
  p.setColor(QPalette::Midlight, controlBorder);
  p.setColor(QPalette::Mid, separator);
  p.setColor(QPalette::Dark, isDark ? plot : strongLine);
  p.setColor(QPalette::Shadow, separator);
  const QColor faint = withAlpha(text3, 0.6);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    p.setColor(QPalette::Disabled, role, faint);
  }
  p.setColor(QPalette::Disabled, QPalette::Highlight, controlBorder);
  return p;
}

QString Theme::styleSheet() const {
  initResources();
  QFile file(QStringLiteral(":/highwater/style.qss"));
  if (!file.open(QIODevice::ReadOnly)) {
    return {};
  }
  QString sheet = QString::fromUtf8(file.readAll());
  const std::pair<const char*, QColor> tokens[] = {
      {"@plot@", plot},
      {"@panel@", panel},
      {"@header@", header},
      {"@control@", control},
      {"@border@", controlBorder},
      {"@track@", track},
      {"@separator@", separator},
      {"@strong@", strongLine},
      {"@text1@", text1},
      {"@text2@", text2},
      {"@text3@", text3},
      {"@accent@", accent},
      {"@fill@", accentFill},
      {"@row@", selectedRow},
      {"@vermillion@", vermillion},
      {"@wrong@", vermillionText},
      {"@warning@", orangeText},
  };
  for (const auto& [token, color] : tokens) {
    sheet.replace(QLatin1String(token), color.name());
  }
  sheet.replace(QLatin1String("@mode@"), QLatin1String(isDark ? "dark" : "light"));
  // Not "monospace", which a Mac does not have, and looks for among all its fonts.
  sheet.replace(QLatin1String("@fixed@"),
                QFontDatabase::systemFont(QFontDatabase::FixedFont).family());
  return sheet;
}

QFont textFont(int pixels, bool semibold) {
  QFont font = QApplication::font();
  font.setPixelSize(pixels);
  font.setWeight(semibold ? QFont::DemiBold : QFont::Normal);
#if QT_VERSION >= QT_VERSION_CHECK(6, 7, 0)
  font.setFeature("tnum", 1);
#endif
  return font;
}

}  // namespace highwater::views
