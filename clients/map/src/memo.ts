// Values that stay the same object while what they are made from does, so that only changes are drawn.

export class Memo {
  readonly #kept = new Map<string, { inputs: readonly unknown[]; value: unknown }>()

  /** Return the value of this name that was made from the same inputs, or make it. */
  keep<T>(name: string, inputs: readonly unknown[], make: () => T): T {
    const kept = this.#kept.get(name)
    if (kept?.inputs.every((input, index) => input === inputs[index])) return kept.value as T
    const value = make()
    this.#kept.set(name, { inputs, value })
    return value
  }
}
