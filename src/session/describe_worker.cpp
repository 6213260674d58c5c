#include "session/describe_worker.h"

#include <QCoreApplication>
#include <QEventLoop>
#include <QProcessEnvironment>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/exit_codes.h"
#include "core/sim_knobs.h"
#include "session/frame_channel.h"
#include "session/option_names.h"
#include "session/script_process.h"
#include "session/worker_choice.h"
#include "session/worker_launch.h"
#include "session/worker_process.h"

namespace highwater::session {

WorkerQuery::WorkerQuery(LaunchOptions options, QObject* parent)
    : QObject(parent), options_(std::move(options)), process_(std::make_unique<WorkerProcess>()) {
  facts_.program = QStringLiteral("highwater-worker");
  limit_.setSingleShot(true);
  connect(&limit_, &QTimer::timeout, this, [this] {
    facts_.silentFor = std::chrono::milliseconds(limit_.interval());
    finish();
  });
}

WorkerQuery::~WorkerQuery() {
  if (!search_) return;
  search_->requestInterruption();
  search_->wait();
}

void WorkerQuery::start() {
  if (!options_.workerProgram.isEmpty()) return launch(options_.workerProgram);
  // A window shall not wait for Pythons.
  auto choice = std::make_shared<std::optional<Result<WorkerChoice>>>();
  search_.reset(QThread::create([choice, folder = QCoreApplication::applicationDirPath()] {
    *choice = chooseWorker(folder, QProcessEnvironment::systemEnvironment());
  }));
  connect(search_.get(), &QThread::finished, this, [this, choice] {
    if (!**choice) return fail((*choice)->error());
    rememberWorker(***choice);
    launch((**choice)->program);
  });
  search_->start();
}

void WorkerQuery::fail(const Error& problem) {
  problem_ = problem;
  finish();
}

void WorkerQuery::launch(const QString& program) {
  auto limits = readSupervisionLimits();
  if (!limits) return fail(limits.error());
  auto socket = process_->start(
      program, workerArguments(options_) + QStringList{QStringLiteral("--describe")},
      options_.environment);
  if (!socket) return fail(socket.error());
  channel_ = std::make_unique<FrameChannel>(
      std::move(*socket), std::string(), [this](auto, const Message& message) {
        if (const auto* greeting = std::get_if<Hello>(&message)) hello_ = *greeting;
        if (const auto* failed = std::get_if<Failure>(&message)) facts_.failure = *failed;
      });
  connect(channel_.get(), &FrameChannel::ended, this, [this] {
    connectionOver_ = true;
    finishIfOver();
  });
  connect(channel_.get(), &FrameChannel::violated, this, [this](const QString& what) {
    facts_.violation = what;
    finish();
  });
  connect(process_.get(), &WorkerProcess::finished, this, [this](ProcessExit exit) {
    facts_.exit = exit;
    finishIfOver();
  });
  limit_.start(limits->start);
}

void WorkerQuery::finishIfOver() {
  if (connectionOver_ && facts_.exit) finish();
}

void WorkerQuery::finish() {
  if (over_) return;
  over_ = true;
  limit_.stop();
  facts_.lastLines = process_->lastLines();
  emit answered();
}

Result<Hello> WorkerQuery::answer() const {
  if (problem_) return *problem_;
  if (hello_ && over_ && !facts_.violation && !facts_.failure) return *hello_;
  const RunEnd end = runEndFrom(facts_);
  return Error{exitCodeFor(end) == kExitUsage ? ErrorCode::kUsage : ErrorCode::kFailed,
               end.message};
}

Result<Hello> describeWorker(const LaunchOptions& options) {
  WorkerQuery query(options);
  QEventLoop loop;
  QObject::connect(&query, &WorkerQuery::answered, &loop, &QEventLoop::quit,
                   Qt::QueuedConnection);  // start() may end at once
  query.start();
  loop.exec();
  return query.answer();
}

Result<void> checkSimulatedSettings(const ScriptOptions& script) {
  if (!script.simulated) return {};
  const QProcessEnvironment all = environmentWith(script.environment);
  std::vector<std::string> mayBeWrong;
  for (const QString& key : all.keys()) {
    const std::string name = key.toStdString();
    const auto knob = std::find_if(kSimKnobs.begin(), kSimKnobs.end(),
                                   [&name](const SimKnob& each) { return each.variable == name; });
    const bool isKnob = knob != kSimKnobs.end();
    const bool isFlag = isKnob && *knob->metavar == '\0' && all.value(key) == QLatin1String("1");
    if (name == kSimLedgerVariable || isFlag || (isKnob && all.value(key).isEmpty())) continue;
    if (isKnob || name.starts_with(kSimPrefix)) mayBeWrong.push_back(name);
  }
  if (mayBeWrong.empty()) return {};
  LaunchOptions options;
  options.device = "sim";
  options.environment = script.environment;
  const auto answer = describeWorker(options);
  // What else the worker refuses may be no matter of the script, nor of its PyTorch.
  const auto isAbout = [&answer](const std::string& name) {
    return name != kSimMissingOpsVariable && answer.error().message.find(name) != std::string::npos;
  };
  if (answer || std::none_of(mayBeWrong.begin(), mayBeWrong.end(), isAbout)) return {};
  return usageError(withOptionNames(answer.error().message, script.environment));
}

}  // namespace highwater::session
