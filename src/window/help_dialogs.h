#pragma once

#include "analysis/live_store.h"

class QWidget;

namespace highwater::window {

/// Shows a dialog with the keys of the timeline. Does not block the window.
void showKeysDialog(QWidget* parent);
/// Shows a dialog with the versions of the program, Qt and, from the run in the store, the worker
/// and PyTorch. Blocks until it is closed.
void showAboutDialog(QWidget* parent, const analysis::LiveStore& store);

}  // namespace highwater::window
