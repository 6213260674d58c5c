#pragma once

class QWidget;

namespace highwater::models {
class SearchModel;
}

namespace highwater::views {

class EventTable;

/// Makes the table of what a search has found: each match with its glyph and the found part marked,
/// what it was found in, its hits, and the steps that it occurs in. `search` is not owned and must
/// outlive the table.
[[nodiscard]] EventTable* makeSearchTable(models::SearchModel* search, QWidget* parent = nullptr);

}  // namespace highwater::views
