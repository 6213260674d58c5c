#pragma once

#include <QString>
#include <QStringList>
#include <string>
#include <vector>

#include "views/event_focus.h"
#include "views/paint.h"

namespace highwater::views {

/// An event in words, for the details strip and for tooltips.
struct EventText {
  Glyph glyph = Glyph::kSquare;
  QColor color;
  QString name;         ///< "embedding_renorm_", "step 209"
  QString length;       ///< "33.6 ms in the fallback"
  QStringList details;  ///< "24 MiB there, 24 MiB back", "step 209, forward", …

  /// For a tooltip: a line each.
  [[nodiscard]] QString joined() const;
};

/// A marker's label, longest form first: "sequence 64 → 112", "seq 112".
[[nodiscard]] QStringList markerForms(const analysis::LiveStore& store,
                                      const events::Marker& marker);

/// An op's name, the longest form first: "aten::native_layer_norm", "native_layer_norm"; of a node
/// of backward its own name, without the engine's.
[[nodiscard]] QStringList opForms(const std::string& name);

/// An event in a few words, with the step that it is of: "copy_, step 12".
[[nodiscard]] QString eventTitle(const analysis::LiveStore& store, const EventRef& event);

/// One thing that is known of an event: "Memory after", "68.2 MiB".
struct EventFact {
  QString name, value;
};
/// All that is known of an event, for a panel that has room; empty where there is no such event.
[[nodiscard]] std::vector<EventFact> eventFacts(const analysis::LiveStore& store,
                                                const EventRef& event);

[[nodiscard]] EventText eventText(const analysis::LiveStore& store, const EventRef& event,
                                  const Theme& theme = Theme::dark());

}  // namespace highwater::views
