#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/live_store.h"
#include "tuning/memory_model.h"
#include "tuning/observations.h"
#include "tuning/sweep.h"

namespace highwater::models {

/// A setting that the run was trained at, with what its steps showed.
struct TriedSetting {
  tuning::Setting setting;
  std::uint64_t peakCurrent = 0, peakDriver = 0;  ///< bytes; 0 where unknown
  std::size_t steps = 0;                          ///< without the first after a change of setting
  /// Tokens per second of the steps, credited to the batch that the device executed: the median and
  /// the quartiles; NaN without steps. Of a setting of the sweep, these and the peaks are of those
  /// steps that it measured.
  double tokensPerS = 0, lowerQuartile = 0, upperQuartile = 0;
  bool outOfMemory = false;
  /// In a run with a sweep: the setting has too few steps to be compared, such as the one at which
  /// the sweep was stopped.
  bool fewSteps = false;
};

/// The memory model of the run on screen, the settings that it was trained at, and the setting that
/// the user is choosing: what the views of tuning show and the sliders warn by.
class TuningState final : public QObject {
  Q_OBJECT

 public:
  /// `store` is not owned and must outlive this object.
  explicit TuningState(const analysis::LiveStore* store, QObject* parent = nullptr);

  /// Fits the model again if the run has steps at a new setting, or many more than at the last fit,
  /// or has ended. Follows what the process holds.
  void refresh();

  /// The model: of the process that trains, with the cache that it holds, or of a fresh process if
  /// the run has ended or is swept. std::nullopt as long as there is none: reason() says why.
  [[nodiscard]] const std::optional<tuning::MemoryModel>& model() const { return model_; }
  [[nodiscard]] QString reason() const { return reason_; }
  /// Whether another thread is still fitting a model with the requests of recorded steps, which
  /// will take the place of model().
  [[nodiscard]] bool isFitting() const { return behind_; }
  [[nodiscard]] const std::vector<TriedSetting>& tried() const { return tried_; }
  /// The setting that the last step used; batch 0 before the first.
  [[nodiscard]] tuning::Setting current() const { return current_; }

  /// The sweep that the recording holds, also one that goes on; std::nullopt: none.
  [[nodiscard]] const std::optional<tuning::Sweep>& sweep() const { return sweep_; }
  /// Whether a sweep is going on, and the setting that it measures; none while it computes the
  /// next.
  [[nodiscard]] bool sweeps() const { return sweeps_; }
  [[nodiscard]] std::optional<tuning::Setting> measuring() const { return measuring_; }
  /// Tells what a sweep does: see sweeps() and measuring().
  void setSweeping(bool sweeps, std::optional<tuning::Setting> measuring);

  /// Sets whether the process of the run may still train: not where a recording has no end, but
  /// nobody writes it. It may until this is called.
  void setLive(bool live);

  /// Whether the run is of the user's own script, whose settings the sliders do not choose.
  [[nodiscard]] bool isOfScript() const;
  /// The setting that the user is choosing, also while a slider is held; of a script the current
  /// one, until another is chosen.
  /// Its length is 1 where the run's inputs have none.
  [[nodiscard]] tuning::Setting chosen() const;
  void setChosen(tuning::Setting setting);
  /// The largest batch and length that may be chosen.
  [[nodiscard]] tuning::Setting limits() const { return limits_; }

  /// The part of the recommended maximum to leave free, from 0 to 0.9.
  [[nodiscard]] double reserve() const { return reserve_; }
  void setReserve(double reserve);

  /// Whether the memory of the run grows while its settings stay, so that what is predicted holds
  /// for the steps so far only (analysis::Findings::driverMemoryGrows()).
  [[nodiscard]] bool memoryGrows() const { return memoryGrows_; }
  /// What TriedSetting::tokensPerS counts: "tokens/s" or "samples/s".
  [[nodiscard]] QString rateUnit() const;
  void setMemoryGrows(bool grows);

  /// The largest safe batch for a length and the longest safe length for a batch: see
  /// tuning::MemoryModel. std::nullopt without a model, or where nothing is safe.
  [[nodiscard]] std::optional<std::uint32_t> largestSafeBatch(std::uint32_t length) const;
  [[nodiscard]] std::optional<std::uint32_t> longestSafeLength(std::uint32_t batch) const;
  /// The largest batch that is safe once the cache, which is held now, is emptied.
  [[nodiscard]] std::optional<std::uint32_t> largestSafeBatchEmptied(std::uint32_t length) const;

 signals:
  /// The model, the tried settings or the limits have changed.
  void changed();
  void memoryGrowsChanged();
  void chosenChanged();
  /// sweeps() or measuring() has changed.
  void sweepingChanged();
  void reserveChanged();

 private:
  void fit();
  void take(Result<tuning::MemoryModel> model);
  /// Makes model() of the fitted one: it goes on from what the process holds as long as it lives.
  void useHeld();
  /// Fits a model with the requests of recorded steps on another thread, and takes it if no other
  /// fit has begun meanwhile.
  void fitBehind(tuning::ModelInput input);
  /// Forgets everything of a run that another one has replaced.
  void startOver();
  /// Whether there are markers that tell of settings, since readMarks().
  [[nodiscard]] bool hasNewMarks() const;
  void readMarks();

  const analysis::LiveStore* store_;
  std::optional<tuning::MemoryModel> fitted_, model_;
  bool hasEnded_ = false;  ///< at the last fit
  bool live_ = true;
  QString reason_;
  std::vector<TriedSetting> tried_;
  tuning::Setting chosen_, current_, limits_;
  bool choseForScript_ = false;
  std::optional<tuning::Sweep> sweep_;
  bool sweeps_ = false;
  std::optional<tuning::Setting> measuring_;
  double reserve_ = tuning::kDefaultReserve;
  bool memoryGrows_ = false;
  std::uint64_t run_ = 0;                   ///< counts the runs: the fit of another is not taken
  bool behind_ = false;                     ///< another thread fits
  std::optional<tuning::ModelInput> next_;  ///< what it fits when that is done
  std::size_t fittedSteps_ = 0, fittedOps_ = 0, seenMarkers_ = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> fittedSettings_;  ///< batch, length
  std::optional<std::int64_t> fittedEpoch_;  ///< of the run: another one begins anew
};

}  // namespace highwater::models
