#include "cli/export_command.h"

#include <QApplication>

#include "cli/off_screen.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "run/recording_loader.h"
#include "window/window_picture.h"

namespace highwater::cli {

int runExport(const ExportOptions& options, int argc, char** argv) {
  useNoScreen();
  const QApplication application(argc, argv);
  const auto drawn =
      window::exportWindowPicture(options.recording, options.image,
                                  {.size = options.size,
                                   .dark = options.dark,
                                   .greyscale = options.greyscale,
                                   .tuning = options.tuning,
                                   .overwrites = options.force,
                                   .range = {options.fromNs, options.untilNs, options.steps}});
  if (!drawn) return failWith(drawn.error());
  // The picture of a damaged recording is drawn, but as in `report` it is a failure.
  if (drawn->damage.empty()) return kExitDone;
  printError(run::damageText(options.recording, *drawn));
  return kExitFailed;
}

}  // namespace highwater::cli
