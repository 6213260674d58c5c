#include "views/panels/note_field.h"

#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>

#include "core/units.h"
#include "models/qt_text.h"

namespace highwater::views {
namespace {

constexpr int kNoteWidth = 280;

}  // namespace

NoteField::NoteField(QWidget* parent)
    : QFrame(parent, Qt::Popup), caption_(new QLabel(this)), field_(new QLineEdit(this)) {
  setObjectName(QStringLiteral("noteBox"));
  setAccessibleName(tr("Note"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 6, 8, 8);
  column->setSpacing(4);
  caption_->setProperty("kind", "quiet");
  field_->setObjectName(QStringLiteral("noteField"));
  field_->setAccessibleName(tr("Text of the note"));
  field_->setPlaceholderText(tr("Note"));
  field_->setFixedSize(kNoteWidth, 26);
  column->addWidget(caption_);
  column->addWidget(field_);
  setFocusProxy(field_);
  connect(field_, &QLineEdit::returnPressed, this, &NoteField::accept);
}

void NoteField::ask(std::int64_t timeNs, const QPoint& foot, int mostLetters) {
  timeNs_ = timeNs;
  caption_->setText(tr("Note at %1").arg(text(formatRunTime(timeNs, 3))));
  field_->setMaxLength(mostLetters);
  field_->clear();
  adjustSize();
  QPoint place = foot - QPoint(12, 0);
  if (const QScreen* screen = parentWidget()->screen()) {
    const QRect room = screen->availableGeometry();
    place.setX(std::clamp(place.x(), room.left(), std::max(room.left(), room.right() - width())));
  }
  move(place);
  show();
  field_->setFocus(Qt::PopupFocusReason);
}

void NoteField::accept() {
  // First: a handler may open a dialog.
  hide();
  // Line breaks and what turns the direction of writing would reach beyond the note's own line.
  QString note = field_->text();
  note.removeIf([](QChar each) {
    const auto category = each.category();
    return category == QChar::Other_Format || (category == QChar::Other_Control && !each.isSpace());
  });
  emit written(timeNs_, note.simplified());
}

void NoteField::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    hide();
    return;
  }
  QFrame::keyPressEvent(event);
}

}  // namespace highwater::views
