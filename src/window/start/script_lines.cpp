#include "window/start/script_lines.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "run/recordings_folder.h"
#include "session/python_package.h"
#include "views/panels/link_button.h"

namespace highwater::window {

ScriptLines::ScriptLines(QWidget* parent) : QWidget(parent) {
  auto* code = new QLabel(lines().trimmed(), this);
  code->setObjectName(QStringLiteral("scriptLines"));
  code->setTextFormat(Qt::PlainText);
  code->setTextInteractionFlags(Qt::TextSelectableByMouse);
  code->setProperty("kind", "code");
  auto* note = new QLabel(
      tr("A knob becomes a slider, a phase and a mark appear in the timeline, and step() says "
         "where "
         "a step ends. Without Highwater each line does nothing, and knob() returns its value; the "
         "package is then found in %1.")
          .arg(run::shownPath(session::pythonPackageFolder())),
      this);
  note->setTextFormat(Qt::PlainText);
  note->setProperty("kind", "note");
  note->setWordWrap(true);
  auto* copyButton = views::linkButton(tr("Copy"), "copyLinesButton", this);
  connect(copyButton, &QToolButton::clicked, this, &ScriptLines::copy);
  auto* row = new QHBoxLayout;
  row->addWidget(code, 1, Qt::AlignTop);
  row->addWidget(copyButton, 0, Qt::AlignTop);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 10, 12, 10);
  column->setSpacing(10);
  column->addLayout(row);
  column->addWidget(note);
  column->addStretch(1);
}

QString ScriptLines::lines() {
  return QStringLiteral(
      "import highwater_mps as highwater\n"
      "batch = highwater.knob(\"batch_size\", 32, min=1, max=512)\n"
      "with highwater.phase(\"augment\"):\n"
      "    ...\n"
      "highwater.mark(\"epoch 2\")\n"
      "highwater.step()\n");
}

void ScriptLines::copy() {
  QGuiApplication::clipboard()->setText(lines());
}

}  // namespace highwater::window
