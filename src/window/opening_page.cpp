#include "window/opening_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "models/qt_text.h"
#include "views/panels/link_button.h"
#include "views/panes/memory_pane.h"
#include "views/panes/overview_pane.h"
#include "views/panes/ruler.h"
#include "window/run_tool_bar.h"

namespace highwater::window {
namespace {

/// Most recordings are read sooner: a page that comes and goes would only flicker.
constexpr int kPatienceMs = 200;
constexpr int kThousandths = 1000;

}  // namespace

OpeningPage::OpeningPage(QWidget* parent)
    : QWidget(parent),
      focus_(&overview_, &axis_),
      title_(new QLabel(this)),
      hint_(new QLabel(this)),
      progress_(new QProgressBar(this)),
      cancel_(views::linkButton(tr("Cancel"), "cancelOpeningButton", this)),
      patience_(new QTimer(this)) {
  setObjectName(QStringLiteral("openingPage"));
  title_->setTextFormat(Qt::PlainText);
  hint_->setTextFormat(Qt::PlainText);
  title_->setProperty("kind", "title");
  hint_->setProperty("kind", "note");
  progress_->setRange(0, kThousandths);
  progress_->setTextVisible(false);
  progress_->setFixedHeight(6);
  progress_->setMinimumWidth(120);
  progress_->setAccessibleName(tr("Share of the recording that has been read"));
  cancel_->setToolTip(tr("Stop reading, and go back to what was shown before (Esc)"));
  cancel_->setShortcut(Qt::Key_Escape);
  auto* bar = new QWidget(this);
  bar->setFixedHeight(kToolBarHeight);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(12, 0, 12, 0);
  row->setSpacing(12);
  row->addWidget(title_);
  row->addWidget(progress_, 1);
  row->addWidget(hint_);
  row->addWidget(cancel_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar);
  column->addStretch();
  patience_->setSingleShot(true);
  patience_->setInterval(kPatienceMs);
  connect(patience_, &QTimer::timeout, this, &OpeningPage::worthShowing);
  connect(cancel_, &QToolButton::clicked, this, &OpeningPage::cancel);
  connect(&axis_.frames(), &views::FrameClock::preparing, this, [this] {
    axis_.setExtent({0, overview_.completeUpToNs()});
  });
}

OpeningPage::~OpeningPage() = default;

void OpeningPage::open(const std::filesystem::path& path, std::size_t memoryBudget) {
  forget();
  title_->setText(tr("Reading %1").arg(text(path.filename().string())));
  hint_->setText(tr("0 %"));
  progress_->setValue(0);
  opening_ = std::make_unique<run::RecordingOpening>(path, memoryBudget);
  const run::RecordingOpening* current = opening_.get();
  // What was still on its way from a reader that is gone must not arrive.
  const auto isCurrent = [this, serial = ++serial_] { return reads() && serial_ == serial; };
  connect(current, &run::RecordingOpening::overviewRead, this,
          [this, isCurrent](const std::shared_ptr<analysis::LiveStore>& overview) {
            if (isCurrent()) {
              showOverview(std::move(*overview));
            }
          });
  connect(current, &run::RecordingOpening::progressed, this, [this, isCurrent](double share) {
    if (isCurrent()) {
      progress_->setValue(static_cast<int>(share * kThousandths));
      hint_->setText(tr("%1 %").arg(static_cast<int>(share * 100)));
    }
  });
  connect(current, &run::RecordingOpening::ended, this,
          [this, isCurrent](const std::shared_ptr<Result<run::RecordingOpening::Loaded>>& loaded) {
            if (isCurrent()) {
              patience_->stop();
              const std::filesystem::path read = opening_->path();
              opening_.reset();
              emit ended(read, loaded);
              forget();
            }
          });
  patience_->start();
  opening_->start();
}

void OpeningPage::cancel() {
  if (reads()) {
    forget();
    emit cancelled();
  }
}

void OpeningPage::forget() {
  patience_->stop();
  opening_.reset();
  delete panes_;
  panes_ = nullptr;
  shown_.clear();
  overview_.clear();
  focus_.clear();
  axis_.reset();
}

void OpeningPage::showOverview(analysis::LiveStore&& overview) {
  overview_ = std::move(overview);
  axis_.setExtent({0, overview_.completeUpToNs()});
  axis_.fit();
  // Only panes that a part of the run draws truthfully: the rest would show its steps and events as
  // if they were all.
  panes_ = new QWidget(this);
  auto* stack = new QVBoxLayout(panes_);
  stack->setContentsMargins(0, 0, 0, 0);
  stack->setSpacing(0);
  shown_ = {new views::Ruler(&overview_, &axis_, &focus_, panes_),
            new views::MemoryPane(&overview_, &axis_, &focus_, panes_),
            new views::OverviewPane(&overview_, &axis_, &focus_, panes_)};
  for (views::TimePane* pane : shown_) stack->addWidget(pane);
  stack->setStretchFactor(shown_[1], 1);
  setSmall(small_);
  static_cast<QVBoxLayout*>(layout())->insertWidget(1, panes_, 1);
  panes_->show();
  for (views::TimePane* pane : shown_) pane->refresh();
  emit overviewShown();
}

std::optional<views::TimeRange> OpeningPage::chosenRange() const {
  const views::TimeRange all = axis_.extent(), visible = axis_.visible();
  const bool chose = all.endNs > 0 && (visible.beginNs > all.beginNs || visible.endNs < all.endNs);
  return chose ? std::optional(visible) : std::nullopt;
}

void OpeningPage::setPatience(int milliseconds) {
  patience_->setInterval(milliseconds);
}

void OpeningPage::setSmall(bool small) {
  small_ = small;
  for (views::TimePane* pane : shown_) pane->setMeasures(views::measuresFor(small));
}

}  // namespace highwater::window
