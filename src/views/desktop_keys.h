#pragma once

#include <QKeySequence>
#include <QList>

namespace highwater::views {

/// The desktop whose habits keys and menus follow. A Mac has a Window menu; elsewhere the frame
/// minimizes and zooms.
enum class Desktop { kMac, kOther };
#ifdef __APPLE__
inline constexpr Desktop kOwnDesktop = Desktop::kMac;
#else
inline constexpr Desktop kOwnDesktop = Desktop::kOther;
#endif

/// The keys that differ by desktop. The first of each list is the one that texts name. A MacBook
/// has its function keys and its forward delete behind fn.
struct DesktopKeys {
  QList<QKeySequence> nextHit, previousHit;
  QList<QKeySequence> reload;
  QList<QKeySequence> rename, remove;  ///< of a recording on the start page
};
[[nodiscard]] inline DesktopKeys desktopKeys(Desktop desktop = kOwnDesktop) {
  DesktopKeys keys{{Qt::Key_F3, Qt::CTRL | Qt::Key_G},
                   {Qt::SHIFT | Qt::Key_F3, Qt::CTRL | Qt::SHIFT | Qt::Key_G},
                   {Qt::Key_F5, Qt::CTRL | Qt::SHIFT | Qt::Key_R},
                   {Qt::Key_F2, Qt::CTRL | Qt::Key_Return},
                   {Qt::Key_Delete, Qt::CTRL | Qt::Key_Backspace}};
  if (desktop == Desktop::kMac) {
    for (auto* each :
         {&keys.nextHit, &keys.previousHit, &keys.reload, &keys.rename, &keys.remove}) {
      each->swapItemsAt(0, 1);
    }
  }
  return keys;
}

}  // namespace highwater::views
