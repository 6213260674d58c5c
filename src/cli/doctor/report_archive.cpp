#include "cli/doctor/report_archive.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <cstdio>

#include "cli/doctor/private_words.h"
#include "cli/doctor/report_tries.h"
#include "cli/doctor/tar_file.h"
#include "cli/output_draft.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/units.h"
#include "report/gzip.h"

namespace highwater::cli {
namespace {

constexpr std::string_view kOption = "--report";
/// In the archive.
const std::string kFolder = "highwater-report/";

/// The file that is named, or a new one in the current folder. Fails where it has another ending or
/// is something else already.
Result<std::string> targetOf(const std::string& named, const QDateTime& now) {
  if (named.empty()) {
    return "highwater-report-" + now.toString(QStringLiteral("yyyyMMdd-HHmmss")).toStdString() +
           ".tar.gz";
  }
  const QFileInfo file(QString::fromStdString(named));
  if (file.isDir()) return usageError("--report " + named + ": it is a folder; name a file in it");
  if (!named.ends_with(".tar.gz") && !named.ends_with(".tgz")) {
    return usageError("--report " + named + ": the archive's name must end with .tar.gz");
  }
  const std::string head = headOf(named);
  const bool isArchive = head.starts_with("\x1f\x8b");
  if (file.exists() && (!file.isFile() || (file.size() > 0 && !isArchive))) {
    return Error{ErrorCode::kExists, named +
                                         " exists and is no archive, so it is not overwritten; "
                                         "name another file after --report"};
  }
  return named;
}

/// As it goes into the archive.
QByteArray published(const QString& name, const QByteArray& content, const PrivateWords& words) {
  if (name.endsWith(QLatin1String(".png"))) return content;
  QByteArray text = content;
  if (name.endsWith(QLatin1String(".json"))) {
    const QJsonDocument answer = QJsonDocument::fromJson(content);
    if (answer.isObject()) text = QJsonDocument(withoutValues(answer.object()).toObject()).toJson();
  }
  return withoutPrivate(text, words);
}

Result<std::string> archiveOf(const ReportTries& tries, const QDateTime& now) {
  const PrivateWords words = ownPrivateWords();
  TarFile tar(static_cast<std::uint64_t>(now.toSecsSinceEpoch()));
  Result<void> added;
  const auto add = [&](const QString& name, const QByteArray& content) {
    const QByteArray text = published(name, content, words);
    const QByteArray path = withoutPrivate(name.toUtf8(), words);
    if (!added) return;
    added = tar.add(kFolder + path.toStdString(),
                    {text.constData(), static_cast<std::size_t>(text.size())});
  };
  const QString head =
      QStringLiteral("Highwater %1, %2\n\n")
          .arg(QCoreApplication::applicationVersion(), now.toUTC().toString(Qt::ISODate));
  add(QStringLiteral("summary.txt"), (head + tries.summary()).toUtf8());
  for (const auto& [name, content] : tries.files()) add(name, content);
  if (!added) return added.error();
  return tar.finish();
}

Result<void> save(const std::string& path, const std::string& tar) {
  auto draft = OutputDraft::ofFile(path, kOption);
  if (!draft) return draft.error();
  auto file = (*draft)->open(0);
  if (!file) return file.error();
  report::Gzip gzip(writeTo(**file));
  gzip.write(tar);
  if (auto done = gzip.finish(); !done) return done;
  return (*draft)->commit();
}

}  // namespace

int runReportArchive(const DoctorOptions& options) {
  const QDateTime now = QDateTime::currentDateTime();
  const auto target = targetOf(options.archive, now);
  if (!target) return failWith(target.error());
  // What follows takes minutes: whether the file can be written is found out before.
  if (auto writable = OutputDraft::ofFile(*target, kOption); !writable)
    return failWith(writable.error());
  Result<std::string> tar(std::string{});
  QString summary;
  {
    ReportTries tries(options);
    if (!tries.hasFolder()) {
      return failWith(failure("no folder for the tries can be made in " +
                              QDir::tempPath().toStdString() + "; set TMPDIR to one"));
    }
    tries.run();
    if (const int signal = ReportTries::endedBy(); signal != 0) {
      printError("interrupted; no archive was written");
      return 128 + signal;
    }
    tar = archiveOf(tries, now);
    summary = tries.summary();
  }
  if (!tar) return failWith(tar.error());
  ignoreFileSizeSignal();
  if (auto saved = save(*target, *tar); !saved) return failWith(saved.error());
  print(summary.toStdString() + "\nWrote " + *target + " (" +
        formatBytes(static_cast<std::uint64_t>(QFileInfo(QString::fromStdString(*target)).size())) +
        "). Send it to whoever gave you Highwater.\n"
        "Your name, your home folder, this machine's name and the values of the environment\n"
        "variables that Highwater names are taken out of its texts, and recordings are left out.\n"
        "What your Python prints by itself, and the picture, are as they are: tar xzf " +
        *target + "\n");
  return kExitDone;
}

}  // namespace highwater::cli
