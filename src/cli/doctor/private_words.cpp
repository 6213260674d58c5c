#include "cli/doctor/private_words.h"

#include <pwd.h>
#include <unistd.h>

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonObject>
#include <QProcessEnvironment>
#include <QRegularExpression>
#include <QSysInfo>
#include <algorithm>

#include "cli/doctor/system_facts.h"

namespace highwater::cli {
namespace {

/// Shorter names are replaced in paths alone: they are words of other texts.
constexpr qsizetype kShortestName = 3;
/// Parts of a full name that are shorter are words of other texts.
constexpr qsizetype kShortestPart = 4;
constexpr qsizetype kShortestSecret = 6;
/// These tell nobody.
constexpr const char* kCommonNames[] = {"root", "user", "localhost", "local"};

void addName(QStringList& names, const QString& name) {
  const bool isCommon =
      std::any_of(std::begin(kCommonNames), std::end(kCommonNames),
                  [&](const char* common) { return name.toLower() == QLatin1String(common); });
  if (!name.isEmpty() && !isCommon && !names.contains(name)) names << name;
}

void addHome(QStringList& homes, const QString& path) {
  for (const QString& each : {QDir::cleanPath(path), QFileInfo(path).canonicalFilePath()}) {
    if (each.size() > 1 && QDir::isAbsolutePath(each) && !homes.contains(each)) homes << each;
  }
}

/// Replaces `word` where it is no part of a longer one.
void replaceWord(QString& text, const QString& word, const QString& by) {
  const QString around = word.size() < kShortestName
                             ? QStringLiteral("(?<=/)%1(?=\\\\?/)")
                             : QStringLiteral("(?<![A-Za-z0-9])%1(?![A-Za-z0-9])");
  const QRegularExpression whole(around.arg(QRegularExpression::escape(word)),
                                 QRegularExpression::CaseInsensitiveOption);
  text.replace(whole, by);
}

}  // namespace

PrivateWords ownPrivateWords() {
  PrivateWords words;
  const auto environment = QProcessEnvironment::systemEnvironment();
  addHome(words.homes, QDir::homePath());
  for (const char* name : {"USER", "LOGNAME"}) {
    addName(words.users, environment.value(QLatin1String(name)));
  }
  if (const passwd* user = ::getpwuid(::getuid()); user != nullptr) {
    addHome(words.homes, QString::fromLocal8Bit(user->pw_dir));
    addName(words.users, QString::fromLocal8Bit(user->pw_name));
    // The full name, before room and telephone number.
    const QString full = QString::fromLocal8Bit(user->pw_gecos).section(u',', 0, 0).trimmed();
    addName(words.users, full);
    for (const QString& part : full.split(u' ')) {
      if (part.size() >= kShortestPart) addName(words.users, part);
    }
  }
  const QString host = QSysInfo::machineHostName();
  addName(words.hosts, host);
  addName(words.hosts, host.section(u'.', 0, 0));
  static const QRegularExpression secret(
      QStringLiteral("TOKEN|SECRET|PASS|CREDENTIAL|AUTH|(^|_)(API_?)?KEY(_|$)"));
  for (const QString& name : environment.keys()) {
    const QString value = environment.value(name);
    if (value.size() >= kShortestSecret &&
        (name.toUpper().contains(secret) || !environmentMeaning(name).isEmpty())) {
      words.secrets.emplace_back(name, value);
    }
  }
  const auto longer = [](const QString& a, const QString& b) { return a.size() > b.size(); };
  for (QStringList* each : {&words.homes, &words.users, &words.hosts}) {
    std::sort(each->begin(), each->end(), longer);
  }
  // One may begin as another does.
  std::sort(words.secrets.begin(), words.secrets.end(),
            [&](const auto& a, const auto& b) { return longer(a.second, b.second); });
  return words;
}

QByteArray withoutPrivate(const QByteArray& bytes, const PrivateWords& words) {
  QString text = QString::fromUtf8(bytes);
  for (const auto& [name, value] : words.secrets) text.replace(value, u'$' + name);
  for (const QString& home : words.homes) {
    for (const QString& slash : {QStringLiteral("/"), QStringLiteral("\\/")}) {  // as in JSON
      const QString path = QString(home).replace(u'/', slash);
      const QRegularExpression whole(QRegularExpression::escape(path) +
                                     QStringLiteral("(?![A-Za-z0-9._-])"));
      text.replace(whole, QStringLiteral("~"));
    }
  }
  for (const QString& host : words.hosts) replaceWord(text, host, QStringLiteral("HOST"));
  for (const QString& user : words.users) replaceWord(text, user, QStringLiteral("USER"));
  static const QRegularExpression ids(QStringLiteral(
      R"re(("(?:crashReporterKey|sleepWakeUUID|bootSessionUUID|deviceIdentifierForVendor|incident|incident_id)"\s*:\s*)"[^"]*")re"));
  text.replace(ids, QStringLiteral(R"(\1"")"));
  return text.toUtf8();
}

QJsonValue withoutValues(const QJsonValue& json) {
  if (json.isArray()) {
    QJsonArray made;
    for (const QJsonValue& each : json.toArray()) made.append(withoutValues(each));
    return made;
  }
  if (!json.isObject()) return json;
  QJsonObject made = json.toObject();
  const bool isVariable = made.contains(QLatin1String("name")) &&
                          made[QLatin1String("value")].isString() &&
                          made.contains(QLatin1String("meaning"));
  if (isVariable) made[QLatin1String("value")] = QStringLiteral("(set)");
  for (auto each = made.begin(); each != made.end(); ++each)
    each.value() = withoutValues(each.value());
  return made;
}

}  // namespace highwater::cli
