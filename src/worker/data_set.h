#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace highwater::worker {

/// Texts and the index of each one's label.
struct LabelledTexts {
  std::vector<std::string> texts;
  std::vector<std::int64_t> labels;

  [[nodiscard]] std::size_t size() const { return texts.size(); }
};

/// What is trained on, what is only evaluated on, and the labels in alphabetical order.
struct DataSet {
  std::string name;  ///< file name, without its folder
  std::vector<std::string> labelNames;
  LabelledTexts train;
  LabelledTexts heldOut;
};

/// Reads CSV with the header `text,label` (in either order; other columns are ignored). Without
/// `heldOut` every fifth row of each class, drawn by `seed`, is held out. Errors name the file, the
/// line where there is one, and what is wrong: wrong columns, no rows, an empty text or label, one
/// class only, a held-out label that training never saw, too few rows of a class.
[[nodiscard]] Result<DataSet> loadDataSet(const std::filesystem::path& train,
                                          const std::optional<std::filesystem::path>& heldOut,
                                          std::uint64_t seed);

/// The sample data set: in $HIGHWATER_DATASETS, in ../share/highwater/datasets beside the program,
/// or in the sources it was built from. kNotFound names them all.
struct DataFiles {
  std::filesystem::path train;
  std::filesystem::path heldOut;
};
[[nodiscard]] Result<DataFiles> findSampleData(const std::filesystem::path& programFolder);

}  // namespace highwater::worker
