#pragma once

#include <QString>

#include "analysis/live_store.h"

class QWidget;

namespace highwater::window {

/// Shows a dialog with the keys of the timeline. Does not block the window.
void showKeysDialog(QWidget* parent);
/// Shows a dialog with what `program doctor` says about this machine. Does not block the window.
void showDoctorDialog(QWidget* parent, const QString& program);
/// Shows a dialog with what `program compare` says of two recordings. Does not block the window.
void showCompareDialog(QWidget* parent, const QString& program, const QString& a, const QString& b);
/// Shows a dialog with the versions of the program, Qt and, from the run in the store, the worker
/// and PyTorch. Blocks until it is closed.
void showAboutDialog(QWidget* parent, const analysis::LiveStore& store);

}  // namespace highwater::window
