#include "views/lanes/event_lane.h"

#include <algorithm>

namespace highwater::views {

std::vector<PlacedGlyph> thinnedGlyphs(std::vector<PlacedGlyph> glyphs) {
  std::stable_sort(glyphs.begin(), glyphs.end(),
                   [](const PlacedGlyph& a, const PlacedGlyph& b) { return a.x < b.x; });
  std::vector<PlacedGlyph> chosen;
  const auto tooNear = [](const PlacedGlyph& before, const PlacedGlyph& after) {
    return after.x - before.x < std::max(before.gap, after.gap);
  };
  for (const PlacedGlyph& each : glyphs) {
    // It takes the places of those that matter less.
    while (!chosen.empty() && tooNear(chosen.back(), each) && each.rank > chosen.back().rank) {
      chosen.pop_back();
    }
    if (chosen.empty() || !tooNear(chosen.back(), each)) {
      chosen.push_back(each);
    }
  }
  return chosen;
}

}  // namespace highwater::views
