#include "worker_process.h"

#include <algorithm>

#include "core/overloaded.h"

namespace highwater::worker::test {
void Stream::take(const Message& message) {
  std::visit(
      Overloaded{[this](const Hello& m) { hello = m; },
                 [this](const RunDescription& m) { description = m; },
                 [this](const Definitions& m) {
                   definitions.add(m);
                   for (const auto& d : m.names) names[d.id] = d.text;
                   for (const auto& d : m.threads) threads[d.id] = d.name;
                 },
                 [this](const EventBatch& m) {
                   m.forEachKind([this]<typename Event>(std::span<const Event> events) {
                     auto& all = of<Event>();
                     all.insert(all.end(), events.begin(), events.end());
                   });
                 },
                 [this](const CommandResult& m) { results.push_back(m); },
                 [this](const Failure& m) { failure = m; },
                 [this](const Goodbye& m) { goodbye = m; }, [](const Welcome&) {},
                 [](const Command&) {}, [](const RunEnd&) {}, [](const FallbackAcceptance&) {},
                 [](const ScriptKnob&) {}, [](const Note&) {}},
      message);
}

std::vector<events::Marker> Stream::markersOf(events::MarkerKind kind) const {
  std::vector<events::Marker> found;
  std::copy_if(markers.begin(), markers.end(), std::back_inserter(found),
               [kind](const auto& marker) { return marker.kind() == kind; });
  return found;
}

WorkerProcess::WorkerProcess(const QStringList& arguments,
                             const std::map<QString, QString>& environment)
    : WorkerProcess(HIGHWATER_BIN_DIR "/highwater-worker", QStringList{"--stdio"} + arguments,
                    environment) {}

WorkerProcess::WorkerProcess(const QString& program, const QStringList& arguments,
                             const std::map<QString, QString>& environment) {
  auto variables = QProcessEnvironment::systemEnvironment();
  for (const auto& [name, value] : environment) variables.insert(name, value);
  process_.setProcessEnvironment(variables);
  process_.start(program, arguments);
  process_.waitForStarted(kWaitMs);
}

WorkerProcess::~WorkerProcess() {
  process_.kill();
  process_.waitForFinished(kWaitMs);
}

void WorkerProcess::send(const Message& message) {
  const wire::FrameBytes frame = wire::encode(message);
  process_.write(reinterpret_cast<const char*>(frame.data()), static_cast<qint64>(frame.size()));
  process_.waitForBytesWritten(kWaitMs);
}

void WorkerProcess::readFrames() {
  const QByteArray bytes = process_.readAllStandardOutput();
  frames_.append({reinterpret_cast<const std::uint8_t*>(bytes.data()),
                  static_cast<std::size_t>(bytes.size())});
  while (stream_.complaint.isEmpty()) {
    const auto frame = frames_.next();
    if (!frame) {
      stream_.complaint = QString::fromStdString(frame.error().message);
      return;
    }
    if (!frame->has_value()) return;
    const auto message = wire::decode(**frame);
    if (!message) {
      stream_.complaint = QString::fromStdString(message.error().message);
      return;
    }
    if (const auto fine = validator_.check(*message); !fine) {
      stream_.complaint = QString::fromStdString(fine.error().message);
      return;
    }
    stream_.take(*message);
  }
}

int WorkerProcess::finish(int limitMs) {
  readUntil([](const Stream&) { return false; }, limitMs);
  if (running() && !process_.waitForFinished(kWaitMs)) return -1;
  readFrames();
  return process_.exitStatus() == QProcess::NormalExit ? process_.exitCode() : -1;
}

}  // namespace highwater::worker::test
