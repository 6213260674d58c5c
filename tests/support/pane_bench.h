#pragma once

#include <QApplication>
#include <QImage>

#include "support/sample_run.h"
#include "views/panes/event_focus.h"
#include "views/panes/time_axis.h"
#include "views/panes/timeline_pane.h"

/// For tests of panes.
namespace highwater::test {

/// Everything that a pane needs: a store, an axis and a focus.
struct PaneBench {
  analysis::LiveStore store;
  views::TimeAxis axis;
  views::EventFocus focus{&store, &axis};

  void apply(const OwnedBatch& batch) {
    store.apply(batch.view());
    fit();
  }
  void feed(const SampleRunOptions& options) {
    test::feed(makeSampleRun(options), store);
    fit();
  }
  [[nodiscard]] views::TimeRange step(std::size_t index) const {
    return views::timeRangeOf(store, {views::Lane::kSteps, static_cast<std::uint32_t>(index)});
  }

 private:
  void fit() {
    axis.setExtent({0, store.completeUpToNs()});
    axis.fit();
  }
};

/// What a pane shows at a size.
template <typename Pane>
QImage render(Pane& pane, QSize size) {
  pane.resize(size);
  QApplication::processEvents();
  pane.renderNow();
  QApplication::processEvents();
  return pane.grab().toImage().convertToFormat(QImage::Format_RGB32);
}

/// The same with a timeline.
struct TimelineBench : PaneBench {
  views::TimelinePane pane{&store, &axis, &focus};

  void apply(const OwnedBatch& batch) {
    PaneBench::apply(batch);
    pane.refresh();
  }
  void feed(const SampleRunOptions& options) {
    PaneBench::feed(options);
    pane.refresh();
  }
  QImage render(int width = 1000) { return test::render(pane, {width, pane.height()}); }
};

}  // namespace highwater::test
