#pragma once

#include <QKeySequence>

namespace highwater::views {

/// A key as this platform writes it: "Ctrl+L", on a Mac "⌘L".
[[nodiscard]] inline QString keyText(const QKeySequence& key) {
  return key.toString(QKeySequence::NativeText);
}

}  // namespace highwater::views
