#include "window/start/recent_recordings.h"

#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QShortcut>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "run/recordings_folder.h"
#include "views/desktop_keys.h"
#include "views/theme.h"
#include "window/start/drop_place.h"
#include "window/start/recording_changes.h"
#include "window/start/start_table.h"

namespace highwater::window {

using views::Theme;
using PreviewState = RecordingPreview::State;

namespace {

constexpr int kRecordingRow = 48;
/// Below, device and size have no columns: the names have the room, and the device stands in the
/// second line.
constexpr int kAllRecordingColumns = 760;
constexpr QSize kPicture(84, 28);

/// The memory of a run in small, on its own scale: driver and, in front of it, current, solid up to
/// its least value.
void drawMemory(QPainter& painter, const QRect& room, const RecordingPreview& preview,
                const Theme& theme) {
  painter.fillRect(room, theme.plot);
  painter.fillRect(QRect(room.left(), room.bottom(), room.width(), 1), theme.strongLine);
  float most = 0;
  for (const MemoryStretch& each : preview.memory)
    most = std::max({most, each.driver, each.current});
  if (most <= 0) return;
  QColor sky = theme.sky;
  sky.setAlphaF(0.45f);
  QColor upToMost = theme.blue;
  upToMost.setAlphaF(0.6f);
  const auto count = preview.memory.size();
  const auto width = static_cast<std::size_t>(room.width());
  for (std::size_t x = 0; x < width; ++x) {
    const std::size_t begin = x * count / width;
    const std::size_t end = std::max(begin + 1, (x + 1) * count / width);
    MemoryStretch peak = preview.memory[begin];
    for (std::size_t i = begin + 1; i < end; ++i) {
      peak.driver = std::max(peak.driver, preview.memory[i].driver);
      peak.current = std::max(peak.current, preview.memory[i].current);
      peak.leastCurrent = std::min(peak.leastCurrent, preview.memory[i].leastCurrent);
    }
    const auto bar = [&](float bytes, const QColor& color) {
      const double height = std::round(bytes / most * static_cast<float>(room.height() - 4));
      painter.fillRect(
          QRectF(room.left() + static_cast<double>(x), room.bottom() - height, 1, height), color);
    };
    bar(peak.driver, sky);
    bar(peak.current, upToMost);
    bar(peak.leastCurrent, theme.blue);
  }
}

/// Paints the rows of recordings.
class RecordingDelegate final : public QStyledItemDelegate {
 public:
  RecordingDelegate(const RecordingsModel* model, const QTableView* table)
      : QStyledItemDelegate(nullptr), model_(model), table_(table) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    painter->save();
    const Theme& theme = Theme::of(option.widget);
    const RecordingPreview& preview = model_->preview(index.row());
    const QRect room = paintStartCell(*painter, option, index);
    painter->fillRect(QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1),
                      theme.separator);
    if (index.column() == RecordingsModel::kMemory) {
      drawMemory(*painter,
                 {QPoint(room.left(), option.rect.center().y() - kPicture.height() / 2), kPicture},
                 preview, theme);
    } else if (index.column() == RecordingsModel::kName) {
      paintName(*painter, option, room, preview, index.data().toString());
    } else {
      painter->setFont(views::textFont(views::kText));
      const bool number = index.column() == RecordingsModel::kLength;
      painter->setPen(number ? theme.text1 : theme.text2);
      painter->drawText(
          room, index.data(Qt::TextAlignmentRole).toInt(),
          painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, room.width()));
    }
    painter->restore();
  }

 private:
  void paintName(QPainter& painter, const QStyleOptionViewItem& option, const QRect& room,
                 const RecordingPreview& preview, const QString& name) const {
    const Theme& theme = Theme::of(option.widget);
    const bool missing = preview.state == PreviewState::kMissing;
    QString second = secondLine(preview);
    // In a narrow list the device has no column, but a simulated run always says so.
    if (table_->isColumnHidden(RecordingsModel::kDevice) && !preview.device.isEmpty()) {
      second = second.isEmpty() ? preview.device : second + QStringLiteral(", ") + preview.device;
    }
    QRect line(room.left(), room.center().y() - 17, room.width(), 18);
    if (second.isEmpty()) line.moveTop(room.center().y() - 9);
    const auto draw = [&](const QString& text, Qt::TextElideMode mode) {
      painter.drawText(line, Qt::AlignVCenter,
                       painter.fontMetrics().elidedText(text, mode, line.width()));
    };
    painter.setFont(views::textFont(views::kText, !missing));
    painter.setPen(missing ? theme.text3 : theme.text1);
    draw(name, Qt::ElideMiddle);  // the names of runs differ at their ends
    line.translate(0, 17);
    painter.setFont(views::textFont(views::kSmallText));
    const bool bad = preview.state == PreviewState::kDamaged ||
                     (preview.state == PreviewState::kRead && !preview.end.isEmpty());
    painter.setPen(bad ? theme.vermillionText : theme.text2);
    draw(second, Qt::ElideRight);
  }

  const RecordingsModel* model_;
  const QTableView* table_;
};

}  // namespace

RecentRecordings::RecentRecordings(QWidget* parent)
    : QWidget(parent), table_(new StartTable(kRecordingRow, this)), drop_(new DropPlace(this)) {
  table_->setObjectName(QStringLiteral("recordingTable"));
  table_->setAccessibleName(tr("Recent recordings"));
  table_->setModel(&model_);
  auto* delegate = new RecordingDelegate(&model_, table_);
  delegate->setParent(table_);
  table_->setItemDelegate(delegate);
  table_->setEmptyText(tr("Recordings appear here"));
  table_->setMinimumHeight(24 + 3 * kRecordingRow);
  auto* head = table_->horizontalHeader();
  const std::pair<int, int> widths[] = {{RecordingsModel::kMemory, kPicture.width() + 20},
                                        {RecordingsModel::kDate, 114},
                                        {RecordingsModel::kLength, 64},
                                        {RecordingsModel::kDevice, 78},
                                        {RecordingsModel::kSize, 78}};
  for (const auto& [column, width] : widths) {
    head->setSectionResizeMode(column, QHeaderView::Fixed);
    head->resizeSection(column, width);
  }
  head->setSectionResizeMode(RecordingsModel::kName, QHeaderView::Stretch);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(table_, 1);
  column->addWidget(drop_);
  connect(table_, &StartTable::chosen, this,
          [this](int row) { emit openRequested(model_.preview(row).path); });
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(table_, &QWidget::customContextMenuRequested, this, &RecentRecordings::showMenu);
  connect(drop_, &DropPlace::chooseRequested, this, &RecentRecordings::chooseRequested);
  const auto onKeys = [this](const QList<QKeySequence>& keys, auto act) {
    for (const QKeySequence& key : keys) {
      auto* shortcut = new QShortcut(key, table_, nullptr, nullptr, Qt::WidgetShortcut);
      connect(shortcut, &QShortcut::activated, this, [this, act] {
        if (const QString path = currentPath(); !path.isEmpty()) (this->*act)(path);
      });
    }
  };
  onKeys(views::desktopKeys().rename, &RecentRecordings::rename);
  onKeys(views::desktopKeys().remove, &RecentRecordings::remove);
}

QString RecentRecordings::currentPath() const {
  const QModelIndex index = table_->currentIndex();
  if (!index.isValid()) return {};
  const RecordingPreview& preview = model_.preview(index.row());
  return preview.state == PreviewState::kMissing ? QString() : preview.path;
}

void RecentRecordings::rename(const QString& path) {
  askToRename(this, path, [this, path](const QString& newPath) {
    if (newPath != path) emit renamed(path, newPath);
  });
}

void RecentRecordings::remove(const QString& path) {
  askToDelete(this, path, [this, path] { emit deleted(path); });
}

void RecentRecordings::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const bool narrow = width() < kAllRecordingColumns;
  table_->setColumnHidden(RecordingsModel::kDevice, narrow);
  table_->setColumnHidden(RecordingsModel::kSize, narrow);
}

void RecentRecordings::showMenu(const QPoint& at) {
  const QModelIndex index = table_->indexAt(at);
  if (!index.isValid()) return;
  const RecordingPreview& preview = model_.preview(index.row());
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const QString path = preview.path;
  const bool missing = preview.state == PreviewState::kMissing;
  menu->addAction(tr("Open"), this, [this, path] { emit openRequested(path); })
      ->setEnabled(!missing);
  const views::DesktopKeys keys = views::desktopKeys();
  menu->addAction(tr("Rename…"), keys.rename.front(), this, [this, path] { rename(path); })
      ->setEnabled(!missing);
  menu->addAction(tr("Delete…"), keys.remove.front(), this, [this, path] { remove(path); })
      ->setEnabled(!missing);
  // A file that exists in the recordings' folder would be back at once.
  menu->addAction(tr("Remove from the list"), this, [this, path] { emit forgetRequested(path); })
      ->setEnabled(QFileInfo(path).path() != run::recordingsFolder() || missing);
  menu->popup(table_->viewport()->mapToGlobal(at));
}

void RecentRecordings::list(const QStringList& others) {
  model_.list(run::recordingsFolder(), others);
  emit countChanged(model_.rowCount());
}

void RecentRecordings::showDrag(bool dragged) {
  drop_->showDrag(dragged);
}

void RecentRecordings::showProblem(const QString& problem) {
  drop_->showProblem(problem);
}

}  // namespace highwater::window
