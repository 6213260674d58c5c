#pragma once

#include <QProcessEnvironment>
#include <QString>

#include "core/result.h"

namespace highwater::session {

/// A worker program, and the libtorch that it is to load.
struct WorkerChoice {
  QString program;
  QString torchLibraries;  ///< folder of libtorch; empty where the worker knows its own
};

/// Chooses the worker: $HIGHWATER_WORKER, or highwater-worker in `folder`. A wheel has none of that
/// name, but highwater-worker-VERSION for some versions of PyTorch: there the first Python that has
/// one of these decides, of findInterpreters(). Asks each in turn (torchOf()), on any thread. Fails
/// with kNotFound where there is no such file, with kVersionMismatch where there is no such
/// PyTorch.
[[nodiscard]] Result<WorkerChoice> chooseWorker(const QString& folder,
                                                const QProcessEnvironment& environment);

/// findWorker() returns this one, without asking a Python, while its files are there.
void rememberWorker(const WorkerChoice& choice);

/// Makes a worker that is started in `environment` load the libtorch of the last success of
/// findWorker() or rememberWorker().
void addTorchLibraries(QProcessEnvironment& environment);

}  // namespace highwater::session
