// What fills the form: file dialogs, and the values of an earlier form.
#include <QAbstractButton>
#include <QButtonGroup>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QSettings>
#include <algorithm>

#include "run/recordings_folder.h"
#include "window/start/script_panel.h"

namespace highwater::window {

void ScriptPanel::browseScript() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Choose a script"), workingFolderOf(fields()), tr("Python (*.py);;All files (*)"));
  if (!path.isEmpty()) nameScript(path);
}

void ScriptPanel::nameScript(const QString& path) {
  script_->setText(run::shownPath(path));
  folder_->clear();  // the script's own, until the user names another
  check();
}

void ScriptPanel::browseFolder() {
  const QString path = QFileDialog::getExistingDirectory(this, tr("Choose the working folder"),
                                                         workingFolderOf(fields()));
  if (path.isEmpty()) return;
  folder_->setText(run::shownPath(path));
  check();
}

void ScriptPanel::browsePython() {
  // Not what a link leads to: an environment's python is often a link to the system's.
  const QString path = QFileDialog::getOpenFileName(this, tr("Choose a Python"),
                                                    QFileInfo(pythonOf(fields())).path(), {},
                                                    nullptr, QFileDialog::DontResolveSymlinks);
  if (path.isEmpty()) return;
  python_->setEditText(run::shownPath(path));
  check();
}

void ScriptPanel::restore(const QSettings& settings) {
  const auto value = [&](const char* key) {
    return settings.value(QStringLiteral("start/") + QLatin1String(key)).toString();
  };
  script_->setText(value("script"));
  arguments_->setText(value("arguments"));
  folder_->setText(value("workingFolder"));
  host_->setText(value("host"));
  if (const QString python = value("python"); !python.isEmpty()) python_->setEditText(python);
  pythonChosen_ = !value("python").isEmpty();
  if (const int device = device_->findData(value("device") == QLatin1String("sim"));
      device >= 0 && !value("device").isEmpty()) {
    device_->setCurrentIndex(device);
  }
  for (QAbstractButton* each : level_->buttons()) {
    if (each->text() == value("level")) each->setChecked(true);
  }
  fallback_->setCurrentIndex(std::max(0, fallback_->findData(value("fallback"))));
  high_->setText(value("highWatermark"));
  low_->setText(value("lowWatermark"));
  simulatedMemory_->setText(value("simulatedMemory"));
  check();
}

void ScriptPanel::save(QSettings& settings) const {
  const ScriptFields now = fields();
  const std::pair<const char*, QString> values[] = {
      {"script", now.script},
      {"arguments", now.arguments},
      {"workingFolder", now.workingFolder},
      {"host", now.host},
      {"python", pythonChosen_ ? now.python : QString()},
      {"device", now.simulated ? QStringLiteral("sim") : QStringLiteral("auto")},
      {"level", now.level},
      {"fallback", now.fallback},
      {"highWatermark", now.highWatermark},
      {"lowWatermark", now.lowWatermark},
      {"simulatedMemory", now.simulatedMemory}};
  // Not the other variables: people put keys and tokens there.
  for (const auto& [key, value] : values) {
    settings.setValue(QStringLiteral("start/") + QLatin1String(key), value);
  }
}

}  // namespace highwater::window
