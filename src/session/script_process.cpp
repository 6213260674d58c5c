#include "session/script_process.h"

#include <unistd.h>

#include <QFileInfo>
#include <QProcessEnvironment>
#include <QStandardPaths>
#include <csignal>
#include <utility>

#include "session/python_package.h"

namespace highwater::session {
namespace {

/// PYTHONPATH with `folder` in front.
QString pythonPath(const QProcessEnvironment& environment, const QString& folder) {
  const QString theirs = environment.value(QStringLiteral("PYTHONPATH"));
  return theirs.isEmpty() ? folder : folder + ':' + theirs;
}

void useDefaultSignals() {
  for (const int each : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(each, SIG_DFL);
}

}  // namespace

ScriptProcess::ScriptProcess(ScriptOptions options, QObject* parent)
    : QObject(parent), options_(std::move(options)) {
  process_.setProcessChannelMode(QProcess::ForwardedChannels);
  process_.setInputChannelMode(QProcess::ForwardedInputChannel);
  process_.setChildProcessModifier(&useDefaultSignals);
  connect(&process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    ended_ = true;
    signal_ = status == QProcess::CrashExit ? code : 0;
    emit ended();
  });
}

ScriptProcess::~ScriptProcess() {
  // QProcess kills what it started; the user's program is not ours to kill.
  if (process_.state() != QProcess::NotRunning) process_.waitForFinished(-1);
}

Result<void> ScriptProcess::start() {
  const QString program = options_.command.value(0);
  if (QStandardPaths::findExecutable(program).isEmpty() && !QFileInfo(program).isExecutable()) {
    return Error{ErrorCode::kNotFound,
                 "there is no program " + program.toStdString() +
                     "; give the command that starts the training, for example python train.py"};
  }
  const QString package = pythonPackageFolder();
  const QString attach = package + QStringLiteral("/highwater/attach");
  if (!QFileInfo::exists(attach + QStringLiteral("/sitecustomize.py"))) {
    return Error{ErrorCode::kNotFound, "Highwater's Python package is missing in " +
                                           package.toStdString() + "; install Highwater again"};
  }
  const QString device = librariesFolder() + QStringLiteral("/libhighwater_simmps.so");
  if (options_.simulated && !QFileInfo::exists(device)) {
    return Error{ErrorCode::kNotFound, "the simulated device is missing: " + device.toStdString()};
  }
  auto endpoint = LocalEndpoint::listen();
  if (!endpoint) return endpoint.error();
  endpoint_ = std::move(*endpoint);
  connect(endpoint_.get(), &LocalEndpoint::connected, this, &ScriptProcess::connected);
  connect(endpoint_.get(), &LocalEndpoint::refused, this, &ScriptProcess::refused);

  auto environment = QProcessEnvironment::systemEnvironment();
  for (const QString& each : options_.environment) {
    environment.insert(each.section(u'=', 0, 0), each.section(u'=', 1));
  }
  environment.insert(QStringLiteral("PYTHONPATH"), pythonPath(environment, attach));
  environment.insert(QStringLiteral("HIGHWATER_SCRIPT_SOCKET"), endpoint_->socketPath());
  environment.insert(QStringLiteral("HIGHWATER_SCRIPT_TOKEN"), endpoint_->tokenFile());
  environment.insert(QStringLiteral("HIGHWATER_SCRIPT_LEVEL"), options_.probeLevel);
  if (options_.simulated) environment.insert(QStringLiteral("HIGHWATER_SCRIPT_SIMMPS"), device);
  if (!environment.contains(QLatin1String(kScriptLibraryVariable))) {
    environment.insert(QLatin1String(kScriptLibraryVariable), scriptLibraryFolder());
  }
  process_.setProcessEnvironment(environment);
  process_.start(program, options_.command.mid(1));
  if (!process_.waitForStarted(-1)) {
    return failure(program.toStdString() +
                   " cannot be started: " + process_.errorString().toStdString());
  }
  return {};
}

std::optional<AttachedConnection> ScriptProcess::takeConnection() {
  return endpoint_->take();
}

}  // namespace highwater::session
