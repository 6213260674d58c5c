#include "window/start/sample_list.h"

#include <QHeaderView>
#include <QPainter>
#include <QStandardItemModel>
#include <QStyledItemDelegate>

#include "core/scenarios.h"
#include "models/plain_tip.h"
#include "views/theme.h"

namespace highwater::window {
namespace {

constexpr int kSampleRow = 27, kSampleHead = 24;
constexpr int kAllSampleColumns = 860;  ///< below, the sentences need the room of the length
enum Column { kSampleName, kSampleDoes, kSampleShows, kSampleLength, kSampleRun, kSampleColumns };

/// A sentence as a label: without its full stop.
QString label(const char* sentence) {
  QString words = QString::fromUtf8(sentence);
  if (words.endsWith(u'.')) words.chop(1);
  return words;
}

class SampleDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    painter->save();
    const views::Theme& theme = views::Theme::of(option.widget);
    const auto* table = static_cast<const SampleList*>(option.widget);
    const bool selected = option.state & QStyle::State_Selected;
    const bool run = index.column() == kSampleRun;
    QRect room = paintStartCell(*painter, option, index);
    if (run) room.setRight(option.rect.right() - 12);
    // Run stands only where the user looks: eight times it would be noise.
    const bool looked = selected || table->hoveredRow() == index.row();
    if (!run || looked) {
      painter->setFont(views::textFont(views::kText, selected && index.column() == kSampleName));
      painter->setPen(run                             ? theme.accent
                      : index.column() == kSampleName ? theme.text1
                                                      : theme.text2);
      const bool right = run || index.column() == kSampleLength;
      painter->drawText(
          room, Qt::AlignVCenter | (right ? Qt::AlignRight : Qt::AlignLeft),
          painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, room.width()));
    }
    painter->restore();
  }
};

}  // namespace

SampleList::SampleList(QWidget* parent) : StartTable(kSampleRow, parent) {
  setObjectName(QStringLiteral("sampleTable"));
  setAccessibleName(tr("Samples"));
  auto* model = new QStandardItemModel(0, kSampleColumns, this);
  model->setHorizontalHeaderLabels(
      {tr("Name"), tr("What it does"), tr("What you will see"), tr("Length"), QString()});
  const auto add = [&](const QString& name, const QString& does, const QString& shows,
                       const QString& length) {
    QList<QStandardItem*> row;
    for (const QString& each : {name, does, shows, length, tr("Run")}) {
      row << new QStandardItem(each);
      row.back()->setEditable(false);
      row.back()->setToolTip(
          models::plainTip(QStringLiteral("%1\n%2.\n%3.").arg(name, does, shows)));
    }
    model->appendRow(row);
  };
  add(QStringLiteral("issue-classifier"), tr("Trains a small transformer to sort issue texts"),
      tr("Memory, steps and phases of an ordinary run"), tr("until stopped"));
  scenarios_ << QString();
  for (const Scenario& each : scenarios()) {
    add(QString::fromUtf8(each.name), label(each.description), label(each.shows),
        tr("%1 steps").arg(each.steps));
    scenarios_ << QString::fromUtf8(each.name);
  }
  model->horizontalHeaderItem(kSampleLength)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  setModel(model);
  setItemDelegate(new SampleDelegate(this));
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* head = horizontalHeader();
  head->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  for (const auto& [column, width] :
       {std::pair(kSampleName, 120), {kSampleLength, 92}, {kSampleRun, 52}}) {
    head->setSectionResizeMode(column, QHeaderView::Fixed);
    head->resizeSection(column, width);
  }
  head->setSectionResizeMode(kSampleDoes, QHeaderView::Stretch);
  head->setSectionResizeMode(kSampleShows, QHeaderView::Stretch);
  const auto run = [this](int row) { emit runRequested(scenarios_.value(row)); };
  connect(this, &StartTable::chosen, this, run);
  connect(selectionModel(), &QItemSelectionModel::selectionChanged, this,
          [this](const QItemSelection& now) {
            if (!selecting_ && !now.isEmpty()) {
              emit selected(scenarios_.value(now.first().top()));
            }
          });
  connect(this, &QTableView::clicked, this, [run](const QModelIndex& index) {
    if (index.column() == kSampleRun) run(index.row());
  });
}

void SampleList::select(const std::optional<QString>& scenario) {
  const auto row = scenario ? scenarios_.indexOf(*scenario) : -1;
  selecting_ = true;
  row < 0 ? clearSelection() : selectRow(static_cast<int>(row));
  selecting_ = false;
}

void SampleList::resizeEvent(QResizeEvent* event) {
  setColumnHidden(kSampleLength, width() < kAllSampleColumns);
  StartTable::resizeEvent(event);
}

QSize SampleList::sizeHint() const {
  return {400, kSampleHead + static_cast<int>(scenarios_.size()) * kSampleRow};
}

}  // namespace highwater::window
