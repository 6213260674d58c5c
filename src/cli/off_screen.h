#pragma once

namespace highwater::cli {

/// Prepares Qt for files of pictures without a screen, quiet but for what is wrong. Call it before
/// the QApplication is made.
void useNoScreen();

}  // namespace highwater::cli
