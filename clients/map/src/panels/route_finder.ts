// Asks for routes, for what is near and within reach, as the state of the explorer says.

import { Task, TaskStatus } from '@lit/task'
import { deepArrayEquals } from '@lit/task/deep-equals.js'
import type { ReactiveControllerHost } from 'lit'
import type { Api } from '../data/api.js'
import { findAvailability } from '../data/availability.js'
import { findNearest, findReach } from '../data/reach.js'
import { findRoute, type RouteAnswer } from '../data/routes.js'
import type { ExplorerState, Waypoint } from '../state.js'

export interface FinderHost extends ReactiveControllerHost {
  readonly api: Api | undefined
  readonly state: ExplorerState
}

export interface FinderOptions {
  /** Whether the panel is open: what is nearest is only asked for then. */
  isOpen(): boolean
  /** Where routes start. */
  start(): Waypoint | undefined
  /** A route, or why there is none. */
  found(answer: RouteAnswer): void
}

const SLIDING_MS = 200

/** What a part of the panel waits for. */
export interface Asked<T> {
  /** The answer to what the state asks now; while the slider moves, the one before. */
  readonly value: T | undefined
  readonly error: unknown
  readonly isBusy: boolean
  retry(): void
}

/** Keeps answers that fit the state of its host. Requests that the state no longer asks for are aborted. */
export class RouteFinder {
  /** Whether the key may ask for routes, and the map has any. */
  readonly availability
  readonly route
  readonly nearest
  readonly reach
  /** The minutes of the slider while it moves. */
  sliding: number | undefined
  /** Whether ends and options are shown on a phone, where they are folded once there is a start. */
  isUnfolded = false

  constructor(private readonly host: FinderHost, options: FinderOptions) {
    this.availability = this.#ask(
      () => [host.api, host.state.map] as const,
      async ([api, map], signal) => (api && map !== undefined ? findAvailability(api, map, signal) : undefined),
    )
    const start = () => {
      const { map, mode, avoid } = host.state
      const from = options.start()
      return this.isReady && map !== undefined && from ? { map, from, mode, avoid } : undefined
    }
    this.route = this.#ask(
      () => [host.api, start(), host.state.to] as const,
      async ([api, start, to], signal) => (api && start && to ? findRoute(api, { ...start, to }, signal) : undefined),
      (answer) => answer && options.found(answer),
    )
    this.nearest = this.#ask(
      () => [host.api, options.isOpen() ? start() : undefined, host.state.tags] as const,
      async ([api, start, tags], signal) => (api && start ? findNearest(api, { ...start, tags }, signal) : undefined),
    )
    this.reach = this.#ask(
      () => [host.api, start(), host.state.minutes] as const,
      async ([api, start, minutes], signal) => {
        if (!api || !start || minutes === undefined) return undefined
        await wait(SLIDING_MS, signal)
        return findReach(api, { ...start, minutes }, signal)
      },
      undefined,
      true,
    )
  }

  /** Whether the key may ask for routes and the map has them; false until that is known. */
  get isReady(): boolean {
    const found = this.availability.value
    return found !== undefined && found.allowed && !found.reason
  }

  slide(minutes: number | undefined): void {
    this.sliding = minutes
    this.host.requestUpdate()
  }

  unfold(isUnfolded: boolean): void {
    this.isUnfolded = isUnfolded
    this.host.requestUpdate()
  }

  #ask<const A extends readonly unknown[], T>(
    args: () => A,
    run: (args: A, signal: AbortSignal) => Promise<T>,
    onComplete?: (value: T) => unknown,
    keep = false,
  ): Asked<T> {
    const task = new Task<A, T>(this.host, {
      args,
      argsEqual: sameApi,
      task: (given, { signal }) => run(given as unknown as A, signal),
      ...(onComplete && { onComplete }),
    })
    return {
      get value() {
        return keep || task.status === TaskStatus.COMPLETE ? task.value : undefined
      },
      get error() {
        return task.status === TaskStatus.ERROR ? task.error : undefined
      },
      get isBusy() {
        return task.status === TaskStatus.PENDING
      },
      retry() {
        void task.run()
      },
    }
  }
}

/** Compare arguments that begin with a connection, which is only itself. */
function sameApi([api, ...others]: readonly unknown[], [before, ...last]: readonly unknown[]): boolean {
  return api === before && deepArrayEquals(others, last)
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
