// What is known of the map that is shown: read when the state asks for it, and kept until it changes.

import { Task, TaskStatus } from '@lit/task'
import type { ReactiveControllerHost } from 'lit'
import type { ExplorerState } from '../state.js'
import type { Texts } from '../texts.js'
import type { Api } from './api.js'
import { readGroups, readLegend } from './attributes.js'
import { kindsOf, readBuilding, readStart, readTagged } from './building.js'
import { readUnit } from './details.js'
import { NameIndex } from './search.js'

export interface DataHost extends ReactiveControllerHost {
  readonly api: Api | undefined
  readonly state: ExplorerState
  readonly fullTexts: Texts
}

export class MapData {
  readonly #start
  readonly #building
  readonly #groups
  readonly #legend
  readonly #unit
  readonly #tagged

  constructor(
    private readonly host: DataHost,
    showsAttributes: () => boolean,
  ) {
    let isAsked = false // for good, so that nothing is read twice
    this.#start = this.#task(
      () => [host.api, host.state.map] as const,
      async ([api, map]) => (api && map !== undefined ? readStart(api, map) : undefined),
    )
    this.#building = this.#task(
      () => [host.api, this.start] as const,
      async ([api, start]) => {
        if (!api || !start) return undefined
        const building = await readBuilding(api, start)
        const kinds = new Map<string, number>()
        for (const kind of [...building.amenities.values()].flatMap(kindsOf)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        return { building, index: new NameIndex(building, host.fullTexts.synonyms), kinds }
      },
    )
    this.#groups = this.#task(
      () => [(isAsked ||= showsAttributes()) ? host.api : undefined] as const,
      async ([api]) => (api ? readGroups(api) : null),
    )
    this.#legend = this.#task(
      () => [host.api, this.building, this.groups?.find(({ group_id: id }) => id === host.state.color)] as const,
      async ([api, building, group]) => (api && building && group ? readLegend(api, group, building.units) : undefined),
    )
    this.#unit = this.#task(
      () => [host.api, host.state.unit] as const,
      async ([api, unit], signal) => (api && unit !== undefined ? readUnit(api, unit, signal) : undefined),
    )
    this.#tagged = this.#task(
      () => [host.api, host.state.map, host.state.tags] as const,
      async ([api, map, tags]) => (api && map !== undefined && tags ? readTagged(api, map, tags) : undefined),
    )
  }

  #task<const A extends readonly unknown[], T>(
    args: () => A,
    read: (args: A, signal: AbortSignal) => Promise<T>,
  ): Task<A, T> {
    return new Task<A, T>(this.host, { args, task: (given, { signal }) => read(given as unknown as A, signal) })
  }

  get start() {
    return valueOf(this.#start)
  }
  get building() {
    return valueOf(this.#building)?.building
  }
  get index() {
    return valueOf(this.#building)?.index
  }
  /** How many amenities there are of each kind. */
  get kinds() {
    return valueOf(this.#building)?.kinds
  }
  /** Null if the key may not read attributes. */
  get groups() {
    return valueOf(this.#groups) ?? null
  }
  get legend() {
    return valueOf(this.#legend)
  }
  /** The unit that is selected; null if the key does not see it. */
  get unit() {
    return valueOf(this.#unit)
  }
  /** The amenities with the tags that the state names. */
  get tagged() {
    return valueOf(this.#tagged)
  }
  /** Why the details of the selected unit cannot be shown, if so. */
  get unitError() {
    return this.#unit.error
  }
  /** Why colours or amenities cannot be shown, if so. */
  get layersError() {
    return this.#groups.error ?? this.#legend.error ?? this.#tagged.error
  }
  get isLoading() {
    return this.#start.status === TaskStatus.PENDING
  }
  /** Why the map cannot be shown, if so. */
  get error() {
    return this.#start.error ?? this.#building.error
  }

  retry() {
    for (const task of [this.#start, this.#building, this.#groups, this.#legend, this.#unit, this.#tagged]) if (task.error) void task.run()
  }
}

/** What a task has read, for the arguments that it has now. */
function valueOf<A extends readonly unknown[], T>(task: Task<A, T>): T | undefined {
  return task.status === TaskStatus.COMPLETE ? task.value : undefined
}
