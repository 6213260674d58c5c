#include "session/checkpoint_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace highwater::session {
namespace {

/// Above the standard descriptors and those that QProcess puts in their place.
constexpr int kLowestDescriptor = 10;

/// An open file without a name.
Result<UniqueFd> namelessFile() {
  QByteArray path = QFile::encodeName(QDir::tempPath() + QStringLiteral("/highwater-XXXXXX"));
  const UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  if (file.valid()) {
    ::unlink(path.constData());
    UniqueFd high(::fcntl(file.get(), F_DUPFD_CLOEXEC, kLowestDescriptor));
    if (high.valid()) return high;
  }
  return failure("no file for checkpoints in " + QDir::tempPath().toStdString() + ": " +
                 std::strerror(errno));
}

}  // namespace

Result<std::shared_ptr<const CheckpointFiles>> CheckpointFiles::create() {
  auto first = namelessFile();
  if (!first) return first.error();
  auto second = namelessFile();
  if (!second) return second.error();
  return std::shared_ptr<const CheckpointFiles>(
      new CheckpointFiles(std::move(*first), std::move(*second)));
}

std::optional<std::uint32_t> CheckpointFiles::step() const {
  const auto head = CheckpointSlots(descriptors()).newestHead();
  return head ? std::optional(head->step) : std::nullopt;
}

LaunchOptions continuedOptions(LaunchOptions options, const RunDescription& run, const Knobs& knobs,
                               std::uint32_t reachedStep, const QString& of) {
  // The default depends on the device, which may be another one now.
  options.preset = run.preset;
  // The fraction of the environment is no wish, and may be another one now.
  const bool isSet = knobs.memoryFraction != run.knobs.memoryFraction;
  const double fraction = isSet ? knobs.memoryFraction : options.memoryFraction;
  static_cast<Knobs&>(options) = knobs;
  options.memoryFraction = options.device == "cpu" ? 0 : fraction;
  auto& scheduled = options.scheduledKnobs;
  scheduled.erase(
      std::remove_if(scheduled.begin(), scheduled.end(),
                     [&](const SetKnobs& change) { return change.atStep <= reachedStep; }),
      scheduled.end());
  options.continues = of;
  return options;
}

}  // namespace highwater::session
