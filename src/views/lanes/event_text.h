#pragma once

#include <QColor>
#include <QString>
#include <QStringList>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "views/lanes/event_ref.h"
#include "views/panes/paint.h"

namespace highwater::views {

/// An event in a few words, for the details strip and for tooltips.
struct EventText {
  Glyph glyph = Glyph::kSquare;
  QColor color;
  QString name;         ///< "embedding_renorm_", "step 209"
  QString length;       ///< "33.6 ms in the fallback"
  QStringList details;  ///< "24 MiB to the CPU, 24 MiB back", "step 209, forward", …

  /// Joins the parts to a text for a tooltip, with one line each.
  [[nodiscard]] QString joined() const;
};
/// Describes an event in a few words, in the colours of `theme`. Empty if there is no such event.
[[nodiscard]] EventText eventText(const analysis::LiveStore& store, const EventRef& event,
                                  const Theme& theme = Theme::dark());

/// One thing that is known about an event: "Memory after", "68.2 MiB".
struct EventFact {
  QString name, value;
};
/// Returns all that is known about an event, for the event panel; empty if there is no such event.
[[nodiscard]] std::vector<EventFact> eventFacts(const analysis::LiveStore& store,
                                                const EventRef& event);

/// Returns an event's name with its step: "copy_, step 12".
[[nodiscard]] QString eventTitle(const analysis::LiveStore& store, const EventRef& event);

/// Returns the forms of a marker's label, longest first: "sequence 64 → 112", "seq 112".
[[nodiscard]] QStringList markerForms(const analysis::LiveStore& store,
                                      const events::Marker& marker);

/// Returns the forms of an op's name, longest first: "aten::native_layer_norm",
/// "native_layer_norm". For a node of backward the short form leaves out the engine's prefix.
[[nodiscard]] QStringList opForms(const std::string& name);

/// Returns the end of a run that the timeline marks: it failed, crashed, exited early, hung, broke
/// the protocol, or ended by a signal after a stop request. nullptr for a run that finished,
/// stopped by itself on request or ended with the host, and for a run without an end.
[[nodiscard]] const RunEnd* endMark(const analysis::LiveStore& store);
/// Returns the label of the mark at the end of a failed run: "crashed, signal 11", "hung", …
[[nodiscard]] QString endMarkText(const RunEnd& end);

}  // namespace highwater::views
