#pragma once

#include <QHash>
#include <QTimer>
#include <QWidget>
#include <memory>
#include <vector>

#include "window/start/form_rows.h"
#include "window/start/interpreters.h"
#include "window/start/script_request.h"

class QButtonGroup;
class QComboBox;
class QLineEdit;
class QPushButton;
class QSettings;
class QToolButton;

namespace highwater::window {

/// The form from which a user starts their own script. Checks what is written, and says beside each
/// field what is wrong, before anything starts.
class ScriptPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit ScriptPanel(QWidget* parent = nullptr);
  ~ScriptPanel() override;

  /// What is written in the form.
  [[nodiscard]] ScriptFields fields() const;
  /// Whether a script is named, right or wrong.
  [[nodiscard]] bool namesScript() const;
  /// Writes a script into the form, to be run in its own folder.
  void nameScript(const QString& path);
  /// Emits runRequested() if nothing is wrong; else goes to the first field with a problem.
  void run();
  /// Reads the fields that an earlier form has saved.
  void restore(const QSettings& settings);
  /// Saves the fields.
  void save(QSettings& settings) const;
  /// Whether Pythons are started to ask for their versions. Off until set.
  void setAsksPython(bool asks);
  /// Looks again at what may have changed outside: files, Pythons, names of recordings.
  void refresh();
  /// Says what the simulated device recommends, once that is known.
  void setSimulatedMemory(const QString& recommended);

 signals:
  void runRequested(const highwater::session::ScriptOptions& options, const QString& recordingName);
  /// The chosen Python has answered.
  void interpreterAnswered(const highwater::window::InterpreterAnswer& answer);
  /// What is written has changed, and was checked.
  void checked();

 private:
  void makeFields();
  void makeEnvironment();
  void makeButtons();
  QLineEdit* lineEdit(const char* name);
  QPushButton* browseButton(const char* name, const QString& tip);
  void browseScript();
  void browseFolder();
  void browsePython();
  /// Checks at once what is otherwise checked when the user stops to write.
  void check();
  void offerPythons();
  [[nodiscard]] QString likeliestPython(const QStringList& found) const;
  void askPython();
  void showAnswer(const InterpreterAnswer& answer);
  void showMachine();
  void showDevice();
  void showEnvironment();
  void copyCommand();
  [[nodiscard]] QString currentLevel() const;

  std::unique_ptr<FormRows> rows_;
  QLineEdit *script_, *arguments_, *folder_, *recording_, *host_;
  QComboBox *python_, *device_;
  QButtonGroup* level_;
  QLabel *levelNote_, *environmentSummary_, *environmentNote_, *deviceNote_;
  std::vector<QPushButton*> browse_;  ///< choose files of this machine
  QToolButton* environmentToggle_;
  QComboBox* fallback_;
  QLineEdit *high_, *low_, *simulatedMemory_, *others_;
  QPushButton* run_;
  QLineEdit* command_;
  QToolButton* copy_;
  QTimer settle_;
  InterpreterQuestion question_;
  QString recommended_;
  QString asked_;               ///< the Python and folder that was asked last
  QHash<QString, bool> works_;  ///< whether a Python has a usable PyTorch, where that is known
  bool asksPython_ = false;
  bool pythonChosen_ = false, recordingChosen_ = false;  ///< by the user, so they stay
  ScriptRequest request_;
};

}  // namespace highwater::window
