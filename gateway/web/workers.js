// Where Monaco finds its web workers; the build puts their hashed names in WORKERS.

globalThis.MonacoEnvironment = {
  getWorker(_id, label) {
    return new Worker(new URL(WORKERS[label] ?? WORKERS.editor, import.meta.url))
  },
}
