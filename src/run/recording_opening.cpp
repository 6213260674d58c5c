#include "run/recording_opening.h"

#include <QElapsedTimer>
#include <QThread>
#include <system_error>

namespace highwater::run {
namespace {

/// Smaller recordings are read before an overview would have been seen.
constexpr std::uintmax_t kLargeBytes = std::uintmax_t{16} << 20;
/// For the overview of a large one. What it shows should stand there within a second.
constexpr int kOverviewMs = 400;
constexpr int kProgressMs = 50;

}  // namespace

RecordingOpening::RecordingOpening(const std::filesystem::path& path, std::size_t memoryBudget,
                                   QObject* parent)
    : QObject(parent),
      path_(path),
      memoryBudget_(memoryBudget),
      thread_(QThread::create([this] { read(); })) {}

void RecordingOpening::start() {
  thread_->start();
}

RecordingOpening::~RecordingOpening() {
  cancelled_ = true;
  thread_->wait();
}

void RecordingOpening::read() {
  const LoadControl untilCancelled{[this] { return cancelled_.load(); }, {}, {}};
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(path_, ignored);
  if (!ignored && bytes >= kLargeBytes) {
    auto overview = std::make_shared<analysis::LiveStore>();
    // An error here comes again where all is read.
    if (loadOverview(path_, *overview, kOverviewMs, untilCancelled)) {
      emit overviewRead(overview);
    }
  }
  QElapsedTimer sinceTold;
  LoadControl control = untilCancelled;
  control.progressed = [&](double share) {
    if (!sinceTold.isValid() || sinceTold.hasExpired(kProgressMs)) {
      sinceTold.start();
      emit progressed(share);
    }
  };
  Loaded loaded;
  loaded.store.setMemoryBudget(memoryBudget_);
  loaded.soFar = control.soFar = std::make_shared<ReadSoFar>();
  auto condition = loadReadablePart(path_, loaded.store, control);
  if (cancelled_) {
    return;
  }
  if (!condition) {
    emit ended(std::make_shared<Result<Loaded>>(condition.error()));
    return;
  }
  loaded.condition = std::move(*condition);
  loaded.store.prepareForDrawing();
  emit ended(std::make_shared<Result<Loaded>>(std::move(loaded)));
}

}  // namespace highwater::run
