#pragma once

#include <QByteArray>
#include <QJsonValue>
#include <QString>
#include <QStringList>
#include <utility>
#include <vector>

namespace highwater::cli {

/// What tells whose machine this is, and what must not leave it. In each list a word that another
/// begins with comes after that.
struct PrivateWords {
  QStringList homes;  ///< absolute paths of the home folder
  QStringList users;  ///< login and full name
  QStringList hosts;
  std::vector<std::pair<QString, QString>> secrets;  ///< name and value of environment variables
};
/// Those of this process. Of environment variables those are secret whose names say so, such as
/// HF_TOKEN, and those that Highwater describes.
[[nodiscard]] PrivateWords ownPrivateWords();

/// `text`, UTF-8, with ~, USER, HOST and $NAME in the place of these words, and without the ids of
/// a Mac in its crash reports.
[[nodiscard]] QByteArray withoutPrivate(const QByteArray& text, const PrivateWords& words);

/// A JSON answer in which environment variables are set, and their values left out.
[[nodiscard]] QJsonValue withoutValues(const QJsonValue& json);

}  // namespace highwater::cli
