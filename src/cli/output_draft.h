#pragma once

#include <QFile>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace highwater::cli {

/// The files of an output while they are written: in a hidden folder beside the place where they
/// belong, so that a name which the user gave never holds half of a file.
///
/// The destructor removes the folder, and so do SIGINT, SIGTERM and SIGHUP, which then end the
/// process as usual. What a process leaves that was killed in another way is removed by the next
/// draft in the same folder. At most one instance in a process.
///
/// Everything fails with kFailed and a message that names the user's file or folder and the option.
class OutputDraft {
 public:
  /// Begins the file `output`. An older file keeps its permissions, and a link to it stays one.
  /// `option` is the one that names it.
  [[nodiscard]] static Result<std::unique_ptr<OutputDraft>> ofFile(
      const std::string& output, std::string_view option = "--to");
  /// Begins files of these names in the folder `output`, which is made if it does not exist.
  [[nodiscard]] static Result<std::unique_ptr<OutputDraft>> ofFolder(
      const std::string& output, const std::vector<std::string>& names);
  OutputDraft(const OutputDraft&) = delete;
  OutputDraft& operator=(const OutputDraft&) = delete;
  ~OutputDraft();

  /// Where to write a file, for those who need a name. Files count from 0.
  [[nodiscard]] const std::filesystem::path& path(std::size_t file) const {
    return pieces_[file]->draft;
  }
  /// Creates a file and opens it to write. It is valid as long as the draft.
  [[nodiscard]] Result<QFile*> open(std::size_t file);
  /// Whether a write to an opened file has failed.
  [[nodiscard]] bool failed() const;
  /// Writes what Qt still holds of opened files.
  [[nodiscard]] Result<void> flush();
  /// The size of all files so far.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Puts the files in their places, on the disk too. None of them is there before. Call it once.
  [[nodiscard]] Result<void> commit();
  /// The error for an output that cannot be written.
  [[nodiscard]] Error notWritten(const std::string& reason) const;

 private:
  struct Piece {
    std::filesystem::path draft, target;
    QFile file;
  };

  explicit OutputDraft(std::string output, std::string_view option = "--to")
      : output_(std::move(output)), option_(option) {}
  /// Makes the folder of the draft in `place`, and names the files there and in `target`.
  [[nodiscard]] Result<void> begin(const std::filesystem::path& place,
                                   const std::filesystem::path& target,
                                   const std::vector<std::string>& names);
  [[nodiscard]] Result<void> makeFolder(const std::filesystem::path& place);
  /// Puts a file on the disk, with the permissions of the one that it replaces.
  [[nodiscard]] Result<void> settle(Piece& piece) const;

  std::string output_;  ///< as the user gave it
  std::string option_;
  std::filesystem::path folder_;  ///< of the draft
  std::filesystem::path target_;  ///< the folder that folder_ becomes; empty if its files move
  std::vector<std::unique_ptr<Piece>> pieces_;
  int lock_ = -1;  ///< folder_, locked
};

}  // namespace highwater::cli
