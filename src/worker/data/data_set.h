#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace highwater::worker {

/// Texts and, for each, the index of its label in DataSet::labelNames.
struct LabelledTexts {
  std::vector<std::string> texts;
  std::vector<std::int64_t> labels;

  [[nodiscard]] std::size_t size() const { return texts.size(); }
};

/// Texts to train on and texts to evaluate on, with the names of their labels.
struct DataSet {
  std::string name;                     ///< file name, without its folder
  std::vector<std::string> labelNames;  ///< in alphabetical order
  LabelledTexts train;
  LabelledTexts heldOut;
};

/// Loads a data set from CSV files with the header `text,label` (in either order; other columns are
/// ignored). Without `heldOut`, a fifth of each class, drawn by `seed`, is held out for evaluation.
/// Returns kMalformed, with the file and, where one is wrong, the line, for wrong columns, a row
/// with more or fewer fields, no rows, an empty text, an empty or very long label, a single class
/// or over 1000, too few rows of a class, or a held-out label without training rows; and the errors
/// of readCsv().
[[nodiscard]] Result<DataSet> loadDataSet(const std::filesystem::path& train,
                                          const std::optional<std::filesystem::path>& heldOut,
                                          std::uint64_t seed);

/// The two files of the sample data set: texts to train on and texts to evaluate on.
struct DataFiles {
  std::filesystem::path train;
  std::filesystem::path heldOut;
};
/// Finds the sample data set in $HIGHWATER_DATASETS or, where that is unset, in
/// ../share/highwater/datasets from `programFolder`, or in the sources. Returns kNotFound, which
/// names the folders, where none has it.
[[nodiscard]] Result<DataFiles> findSampleData(const std::filesystem::path& programFolder);

}  // namespace highwater::worker
