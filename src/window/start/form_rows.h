#pragma once

#include <QGridLayout>
#include <QLabel>
#include <map>

#include "window/start/script_fields.h"

namespace highwater::window {

/// The height of a field of a form, in logical pixels.
inline constexpr int kFieldHeight = 28;

/// The rows of a form: a name in the gutter, a field, perhaps a button beside it, and a note at the
/// right, which says what is wrong with the field if something is.
class FormRows {
 public:
  /// Fills `grid`, which the caller owns.
  explicit FormRows(QGridLayout* grid);

  /// Adds a row. `button` may be nullptr: then the field gets its room too, unless it is `narrow`.
  void add(ScriptField field, const QString& name, QWidget* widget, QWidget* button,
           const QString& note, bool narrow = false);
  /// Adds a row without a field that can be wrong. Returns its note.
  QLabel* add(const QString& name, QWidget* widget, const QString& note, bool narrow = false);

  /// Sets what the note of a field says while nothing is wrong with it.
  void setNote(ScriptField field, const QString& note);
  /// Sets the note of a field that works, but not as the user may expect; empty: it does.
  void setWarning(ScriptField field, const QString& warning);
  /// Shows the problems beside their fields; the other notes come back.
  void showProblems(const ScriptProblems& problems);
  /// What stands beside a field now.
  [[nodiscard]] QString noteOf(ScriptField field) const;
  /// Shows or hides the row of a field.
  void setShown(ScriptField field, bool shown);
  [[nodiscard]] QWidget* widgetOf(ScriptField field) const { return rows_.at(field).widget; }

 private:
  struct Row {
    QLabel* name = nullptr;
    QWidget *widget = nullptr, *button = nullptr;
    QLabel* note = nullptr;
    QString usual, warning, problem;
    int at = 0;  ///< in the grid
  };
  Row make(const QString& name, QWidget* widget, QWidget* button, const QString& note, bool narrow);
  static void show(Row& row);

  QGridLayout* grid_;
  std::map<ScriptField, Row> rows_;
};

}  // namespace highwater::window
