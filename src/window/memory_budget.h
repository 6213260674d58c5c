#pragma once

#include <cstddef>
#include <functional>

class QSettings;
class QWidget;

namespace highwater::window {

/// The memory budget of the window's data in bytes, as the user set it: see
/// analysis::LiveStore::setMemoryBudget(). The default where none is stored, or one out of range.
[[nodiscard]] std::size_t storedMemoryBudget(const QSettings& settings);
void saveMemoryBudget(QSettings& settings, std::size_t bytes);

/// Asks for the budget in MiB, without blocking. `accepted` gets it in bytes.
void askForMemoryBudget(QWidget* parent, std::size_t bytes,
                        std::function<void(std::size_t bytes)> accepted);

}  // namespace highwater::window
