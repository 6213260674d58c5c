#include "window/memory_budget.h"

#include <QInputDialog>
#include <QSettings>

#include "analysis/live_store.h"

namespace highwater::window {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr int kLeastMiB = 64, kMostMiB = 64 * 1024;
const QLatin1String kKey("window/memoryMiB");

}  // namespace

std::size_t storedMemoryBudget(const QSettings& settings) {
  bool isNumber = false;
  const int mib = settings.value(kKey).toInt(&isNumber);
  return isNumber && mib >= kLeastMiB && mib <= kMostMiB
             ? static_cast<std::size_t>(mib) * kMiB
             : analysis::LiveStore::kDefaultMemoryBudget;
}

void saveMemoryBudget(QSettings& settings, std::size_t bytes) {
  settings.setValue(kKey, static_cast<int>(bytes / kMiB));
}

void askForMemoryBudget(QWidget* parent, std::size_t bytes,
                        std::function<void(std::size_t bytes)> accepted) {
  auto* dialog = new QInputDialog(parent);
  dialog->setObjectName(QStringLiteral("memoryBudgetDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QInputDialog::tr("Memory of the window"));
  dialog->setLabelText(
      QInputDialog::tr("Memory for the data of a run, in MiB. Beyond it the oldest ops are dropped "
                       "and\nread back from the recording when you look at them."));
  dialog->setInputMode(QInputDialog::IntInput);
  dialog->setIntRange(kLeastMiB, kMostMiB);
  dialog->setIntStep(256);
  dialog->setIntValue(static_cast<int>(bytes / kMiB));
  QObject::connect(dialog, &QInputDialog::intValueSelected, parent,
                   [accepted = std::move(accepted)](int mib) {
                     accepted(static_cast<std::size_t>(mib) * kMiB);
                   });
  dialog->open();
}

}  // namespace highwater::window
