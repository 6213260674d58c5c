#pragma once

#include "analysis/live_store.h"

class QWidget;

namespace highwater::app {

/// The keys of the timeline, in a window that need not be closed to work on.
void showKeysDialog(QWidget* parent);
void showAboutDialog(QWidget* parent, const analysis::LiveStore& store);

}  // namespace highwater::app
