#pragma once

#include <QWidget>

namespace highwater::window {

/// The lines that a user may add to a script, to read and to copy.
class ScriptLines final : public QWidget {
  Q_OBJECT

 public:
  explicit ScriptLines(QWidget* parent = nullptr);

  /// The lines.
  [[nodiscard]] static QString lines();
  /// Puts the lines on the clipboard.
  static void copy();
};

}  // namespace highwater::window
