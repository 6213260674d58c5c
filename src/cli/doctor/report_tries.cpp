#include "cli/doctor/report_tries.h"

#include <QCoreApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QProcess>
#include <QProcessEnvironment>
#include <QStandardPaths>
#include <array>
#include <csignal>
#include <cstdio>

#include "session/interpreters.h"

namespace highwater::cli {
namespace {

volatile std::sig_atomic_t endingSignal = 0;
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr qint64 kMostCrash = 2 << 20;
constexpr qsizetype kMostCrashes = 10;
constexpr qsizetype kMostCrashName = 60;
constexpr qsizetype kMostLog = 1 << 20;
constexpr int kCrashDays = 14;

extern "C" void noteEnd(int signal) {
  endingSignal = signal;
}

/// A training of a second or two, of the user's own PyTorch.
constexpr char kScript[] = R"(import sys
import torch

device = "mps" if torch.backends.mps.is_available() and "cpu" not in sys.argv else "cpu"
print("PyTorch", torch.__version__, "on", device, flush=True)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1, 41):
    inputs = torch.randn(64, 64, device=device)
    targets = torch.randint(0, 8, (64,), device=device)
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), flush=True)
)";

/// The first Python with a PyTorch; the first of all where none has one; empty where there is none.
QString likeliestPython() {
  const auto environment = QProcessEnvironment::systemEnvironment();
  const QStringList found = session::findInterpreters({}, environment);
  for (const QString& each : found) {
    if (!session::torchOf(each, environment).version.isEmpty()) return each;
  }
  return found.value(0);
}

QByteArray contentOf(const QString& path, qint64 most) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.read(most) : QByteArray();
}

}  // namespace

ReportTries::ReportTries(const DoctorOptions& options)
    : options_(options), begin_(QDateTime::currentDateTime()) {
  endingSignal = 0;
  struct sigaction action {};
  action.sa_handler = &noteEnd;
  for (const int signal : kEndingSignals) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

ReportTries::~ReportTries() {
  for (const int signal : kEndingSignals) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == &noteEnd) std::signal(signal, SIG_DFL);
  }
}

int ReportTries::endedBy() {
  return endingSignal;
}

void ReportTries::note(const QString& name, const QString& outcome) {
  summary_ += QStringLiteral("%1 %2\n").arg(name, -12).arg(outcome);
}

void ReportTries::skip(const QString& name, const QString& why) {
  note(name, QStringLiteral("left out: ") + why);
}

bool ReportTries::attempt(const Try& what) {
  if (endingSignal != 0) return false;
  std::fprintf(stderr, "highwater: %s ...\n", qPrintable(what.doing));
  const QString program =
      what.program.isEmpty() ? QCoreApplication::applicationFilePath() : what.program;
  QProcess process;
  auto environment = QProcessEnvironment::systemEnvironment();
  for (const QString& each : options_.launch.environment) {
    environment.insert(each.section(u'=', 0, 0), each.section(u'=', 1));
  }
  // No window is shown, and a picture is drawn without a screen.
  environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
  process.setProcessEnvironment(environment);
  process.setWorkingDirectory(folder());
  process.setStandardInputFile(QProcess::nullDevice());
  QElapsedTimer clock;
  clock.start();
  process.start(program, what.arguments);
  constexpr int kTurnMs = 100;
  bool isLate = false;
  while (process.state() != QProcess::NotRunning && !process.waitForFinished(kTurnMs)) {
    isLate = clock.elapsed() > std::chrono::milliseconds(what.limit).count();
    if (!isLate && endingSignal == 0) continue;
    process.terminate();
    if (!process.waitForFinished(5000)) process.kill();
    process.waitForFinished();
  }
  out_ = process.readAllStandardOutput();
  QByteArray log = process.readAllStandardError();
  if (!what.keepsOutput) log = out_.right(kMostLog) + log;
  if (what.keepsOutput && !out_.isEmpty()) {
    files_.emplace_back(what.name + QStringLiteral(".json"), out_);
  }
  if (!log.isEmpty()) files_.emplace_back(what.name + QStringLiteral(".log"), log.right(kMostLog));
  for (const QString& each : what.makes) {
    const QString path = folder() + u'/' + each;
    if (QFile::exists(path)) files_.emplace_back(each, contentOf(path, 64 << 20));
  }
  QString outcome;
  const bool done = process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0;
  if (isLate) {
    outcome = QStringLiteral("no end after %1 s").arg(what.limit.count());
  } else if (process.error() == QProcess::FailedToStart) {
    outcome = QStringLiteral("cannot be started: ") + process.errorString();
  } else if (process.exitStatus() != QProcess::NormalExit) {
    outcome = QStringLiteral("ended by signal %1").arg(process.exitCode());
  } else {
    outcome =
        done ? QStringLiteral("done") : QStringLiteral("exit code %1").arg(process.exitCode());
  }
  note(what.name, QStringLiteral("%1, %2 s: %3 %4")
                      .arg(outcome)
                      .arg(static_cast<double>(clock.elapsed()) / 1000, 0, 'f', 1)
                      .arg(what.program.isEmpty() ? QStringLiteral("highwater") : what.program,
                           what.arguments.join(u' ')));
  return done && !isLate;
}

void ReportTries::takeSystem() {
  using std::chrono::seconds;
  const auto ask = [this](const QString& name, const QString& program,
                          const QStringList& arguments) {
    if (QStandardPaths::findExecutable(program).isEmpty()) return;
    attempt(
        {name, QStringLiteral("asking ") + program, program, arguments, seconds(20), {}, false});
  };
  ask(QStringLiteral("system"), QStringLiteral("uname"), {QStringLiteral("-srm")});
#ifdef Q_OS_MACOS
  ask(QStringLiteral("macos"), QStringLiteral("sw_vers"), {});
  ask(QStringLiteral("chip"), QStringLiteral("sysctl"),
      {QStringLiteral("machdep.cpu.brand_string"), QStringLiteral("hw.memsize"),
       QStringLiteral("hw.model")});
  ask(QStringLiteral("tools"), QStringLiteral("xcode-select"), {QStringLiteral("-p")});
#endif
  attempt({QStringLiteral("version"),
           QStringLiteral("asking for the version"),
           {},
           {QStringLiteral("--version")},
           seconds(60),
           {},
           false});
}

void ReportTries::takeSelfTest() {
  const QString device = QString::fromStdString(options_.launch.device);
  const QString name = QStringLiteral("self-test");
  attempt({QStringLiteral("doctor"),
           QStringLiteral("what works on this machine"),
           {},
           {QStringLiteral("doctor"), QStringLiteral("--json"), QStringLiteral("--device"), device},
           std::chrono::seconds(180)});
  const QJsonDocument answer = QJsonDocument::fromJson(out_);
  const QString selected = answer[QLatin1String("device")][QLatin1String("selected")].toString();
  if (selected.isEmpty()) {
    const QString why = answer[QLatin1String("worker")][QLatin1String("error")].toString();
    return skip(name, why.isEmpty() ? QStringLiteral("no worker answered") : why);
  }
  if (selected != QLatin1String("mps")) {
    return skip(name, QStringLiteral("there is no mps to test"));
  }
  attempt({name,
           QStringLiteral("the self-test, which takes up to five minutes"),
           {},
           {QStringLiteral("doctor"), QStringLiteral("--selftest"), QStringLiteral("--device"),
            device, QStringLiteral("--json"), QStringLiteral("self-test.json")},
           std::chrono::seconds(420),
           {QStringLiteral("self-test.json")},
           false});
}

void ReportTries::takeScript() {
  QFile script(folder() + QStringLiteral("/train.py"));
  const bool written = script.open(QIODevice::WriteOnly) && script.write(kScript) > 0;
  script.close();
  if (!written) return skip(QStringLiteral("script"), QStringLiteral("it cannot be written"));
  QString python = options_.interpreter.isEmpty() ? likeliestPython() : options_.interpreter;
  if (python.isEmpty()) {
    return skip(QStringLiteral("script"),
                QStringLiteral("there is no python3; name one by --python"));
  }
  // The tries run in another folder than this command.
  if (python.contains(u'/')) python = QFileInfo(python).absoluteFilePath();
  using std::chrono::seconds;
  attempt({QStringLiteral("python"),
           QStringLiteral("what works with the Python, and building its part"),
           {},
           {QStringLiteral("doctor"), QStringLiteral("--json"), QStringLiteral("--python"), python},
           seconds(300)});
  QStringList command{QStringLiteral("run"), QStringLiteral("--record"),
                      QStringLiteral("script.highwater")};
  if (options_.launch.device == "sim")
    command << QStringLiteral("--device") << QStringLiteral("sim");
  command << QStringLiteral("--") << python << QStringLiteral("train.py");
  if (options_.launch.device == "cpu") command << QStringLiteral("cpu");
  attempt({QStringLiteral("script"),
           QStringLiteral("a small script under highwater run"),
           {},
           command,
           seconds(300),
           {},
           false});
  const QString recording = folder() + QStringLiteral("/script.highwater");
  if (!QFile::exists(recording))
    return skip(QStringLiteral("report"), QStringLiteral("nothing was recorded"));
  attempt({QStringLiteral("report"),
           QStringLiteral("its report"),
           {},
           {QStringLiteral("report"), QStringLiteral("script.highwater"), QStringLiteral("--json")},
           seconds(60)});
  attempt({QStringLiteral("picture"),
           QStringLiteral("a picture of the window"),
           {},
           {QStringLiteral("export"), QStringLiteral("script.highwater"), QStringLiteral("--to"),
            QStringLiteral("window.png")},
           seconds(120),
           {QStringLiteral("window.png")},
           false});
}

void ReportTries::takeSample() {
  const bool done =
      attempt({QStringLiteral("sample"),
               QStringLiteral("the sample training"),
               {},
               {QStringLiteral("record"), QStringLiteral("--device"),
                QString::fromStdString(options_.launch.device), QStringLiteral("--steps"),
                QStringLiteral("30"), QStringLiteral("-o"), QStringLiteral("sample.highwater")},
               std::chrono::seconds(180),
               {},
               false});
  if (!done && !QFile::exists(folder() + QStringLiteral("/sample.highwater"))) return;
  attempt({QStringLiteral("sample-report"),
           QStringLiteral("its report"),
           {},
           {QStringLiteral("report"), QStringLiteral("sample.highwater"), QStringLiteral("--json")},
           std::chrono::seconds(60)});
}

void ReportTries::takeCrashes() {
  const QDir reports(QDir::homePath() + QStringLiteral("/Library/Logs/DiagnosticReports"));
  if (!reports.exists()) return;
  qsizetype taken = 0;
  const auto all = reports.entryInfoList(
      {QStringLiteral("highwater*.ips"), QStringLiteral("python*.ips")}, QDir::Files, QDir::Time);
  for (const QFileInfo& each : all) {
    // Another program's Python is none of ours.
    const bool isOurs = each.fileName().startsWith(QLatin1String("highwater"));
    const QDateTime oldest = isOurs ? begin_.addDays(-kCrashDays) : begin_;
    if (taken == kMostCrashes || each.size() > kMostCrash || each.lastModified() < oldest) continue;
    files_.emplace_back(QStringLiteral("crashes/") + each.fileName().right(kMostCrashName),
                        contentOf(each.filePath(), kMostCrash));
    ++taken;
  }
  note(QStringLiteral("crashes"),
       QStringLiteral("%1 reports of the last %2 days").arg(taken).arg(kCrashDays));
}

void ReportTries::run() {
  takeSystem();
  takeSelfTest();
  takeScript();
  takeSample();
  takeCrashes();
}

}  // namespace highwater::cli
