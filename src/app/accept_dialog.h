#pragma once

#include <QString>
#include <functional>

class QWidget;

namespace highwater::app {

/// Asks why the CPU path of an op is fine. `accepted` is called with the reason, which is never
/// empty; nothing where the user turns back. Does not block.
void askForReason(QWidget* parent, const QString& op,
                  std::function<void(const QString& reason)> accepted);

}  // namespace highwater::app
