#include "window/op_read_back.h"

#include <QThread>
#include <algorithm>

#include "models/qt_text.h"
#include "run/recording_loader.h"
#include "run/run.h"
#include "views/panes/time_axis.h"

namespace highwater::window {
namespace {

/// A pan or a zoom is over when the range has been still for so long.
constexpr int kSettledMs = 120;

}  // namespace

OpReadBack::OpReadBack(run::Run* run, views::TimeAxis* axis, QObject* parent)
    : QObject(parent), run_(run), axis_(axis) {
  settled_.setSingleShot(true);
  settled_.setInterval(kSettledMs);
  connect(&settled_, &QTimer::timeout, this, &OpReadBack::readMissing);
  connect(axis_, &views::TimeAxis::visibleChanged, &settled_, qOverload<>(&QTimer::start));
  connect(run_, &run::Run::dataChanged, this, [this] {
    if (!settled_.isActive()) settled_.start();
  });
  connect(run_, &run::Run::runReplaced, this, [this] {
    stop();
    ++replaced_;
    tooManyIn_ = {};
    told_ = false;
    settled_.start();
  });
}

OpReadBack::~OpReadBack() {
  stop();
}

void OpReadBack::stop() {
  if (!thread_) return;
  cancelled_ = true;
  thread_->wait();
  thread_.reset();
  cancelled_ = false;
}

void OpReadBack::readMissing() {
  const views::TimeRange visible = axis_->visible();
  const analysis::OpColumns& ops = run_->store().ops();
  const std::filesystem::path path = run_->recordingPath();
  if (thread_ || path.empty() || !ops.isMissing(visible.beginNs, visible.endNs)) return;
  const std::pair range(visible.beginNs, std::min(visible.endNs, ops.forgottenUpToNs));
  const std::size_t most = run_->store().mostReadBack();
  // A range around one with too many has no fewer.
  const bool surrounds = most <= tooManyFor_ && tooManyIn_.first < tooManyIn_.second &&
                         range.first <= tooManyIn_.first && range.second >= tooManyIn_.second;
  if (surrounds) return;
  const std::int64_t length = range.second - range.first;
  thread_.reset(
      QThread::create([this, path, range, length, most, of = replaced_, id = run_->runId()] {
        const run::LoadControl control{[this] { return cancelled_.load(); }, {}, {}, id};
        Read read(std::nullopt);
        // With room to pan, or else just what is seen.
        for (const std::int64_t margin : {length, std::int64_t{0}}) {
          const std::int64_t beginNs = std::max<std::int64_t>(range.first - margin, 0);
          const std::int64_t endNs = range.second + margin;
          auto found = run::readOps(path, beginNs, endNs, most, control);
          if (!found) {
            read = found.error();
            break;
          }
          if (*found) {
            read = std::optional(analysis::OpColumns::ReadBack{std::move(**found), beginNs, endNs});
            break;
          }
        }
        if (cancelled_) return;
        auto shared = std::make_shared<Read>(std::move(read));
        QMetaObject::invokeMethod(
            this,
            [this, shared, range, most, of] {
              if (of != replaced_) return;  // its thread was stopped when the run was replaced
              stop();
              if (*shared && !**shared) {
                tooManyIn_ = range;
                tooManyFor_ = most;
                emit tooMany();
              }
              take(std::move(*shared));
            },
            Qt::QueuedConnection);
      }));
  thread_->start();
}

void OpReadBack::take(Read read) {
  if (!read) {
    if (!std::exchange(told_, true)) emit failed(text(read.error().message));
    return;
  }
  if (!*read) return;
  run_->showReadBack(std::move(**read));
  settled_.start();  // the range may have changed meanwhile
}

}  // namespace highwater::window
