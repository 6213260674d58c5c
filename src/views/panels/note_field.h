#pragma once

#include <QFrame>
#include <cstdint>

class QLabel;
class QLineEdit;

namespace highwater::views {

/// A small field that asks for the text of a note, at its place in time. Enter adds the note, Esc
/// or a click elsewhere does not.
class NoteField final : public QFrame {
  Q_OBJECT

 public:
  explicit NoteField(QWidget* parent);

  /// Asks for a note at the time `timeNs` of the run. `foot` is the point of the screen below which
  /// the field is shown. `mostLetters` is the longest text.
  void ask(std::int64_t timeNs, const QPoint& foot, int mostLetters);

 signals:
  /// The user wrote a note, which may be empty.
  void written(qint64 timeNs, const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void accept();

  QLabel* caption_;
  QLineEdit* field_;
  std::int64_t timeNs_ = 0;
};

}  // namespace highwater::views
