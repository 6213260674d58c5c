#pragma once

#include <QString>
#include <functional>

class QDialog;
class QWidget;

namespace highwater::window {

/// Asks why the CPU path of `op` is fine. Does not block: `accepted` is called later with the
/// reason, which is never empty, or not at all if the user cancels.
void askForReason(QWidget* parent, const QString& op,
                  std::function<void(const QString& reason)> accepted);

/// Asks for how many steps to record every op. Does not block: `accepted` is called later with the
/// number, or not at all if the user cancels.
void askForSteps(QWidget* parent, int suggestion, std::function<void(int steps)> accepted);

/// Asks whether the memory limit is to be lifted (high watermark 0). Does not block: `answered` is
/// called later.
void askToLiftLimit(QWidget* parent, std::function<void(bool lift)> answered);

/// What becomes of the user's program when the window closes.
enum class ScriptFate { kRunOn, kStop };
/// Asks what becomes of `program`, which still runs. Does not block: `chosen` is called later, or
/// not at all if the user keeps the window open. The dialog deletes itself.
QDialog* askToLeaveScript(QWidget* parent, const QString& program,
                          std::function<void(ScriptFate fate)> chosen);

/// Asks whether to kill `program`, which does not stop. Does not block: `chosen` is called later,
/// or not at all. The dialog deletes itself.
QDialog* askToKillScript(QWidget* parent, const QString& program, std::function<void()> chosen);

/// Asks whether to try the training without the waits at a line, which may read values there. Does
/// not block: `chosen` is called later, or not at all. The dialog deletes itself.
QDialog* askToTryFix(QWidget* parent, const QString& line, bool reads,
                     std::function<void()> chosen);

/// Asks whether to sweep the batch size of `program`: of the one that `runs`, or of another run of
/// it that the sweep ends. Does not block: `chosen` is called later, or not at all. The dialog
/// deletes itself.
QDialog* askToSweepScript(QWidget* parent, const QString& program, bool runs,
                          std::function<void()> chosen);

}  // namespace highwater::window
