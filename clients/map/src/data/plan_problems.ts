// What is wrong with the floor plan of a map that was processed, and where.

import type { Marker } from '../view/types.js'
import type { Api } from './api.js'

export interface PlanProblem {
  part: string
  name: string
  file: string | null
  line: number | null
  /** Id of the floor, or null if the whole plan is meant. */
  level_id: string | null
  /** In feet; null if it is not known. */
  x: number | null
  y: number | null
  /** The same in the coordinates of the map; absent in reports of earlier releases. */
  map_x?: number | null
  map_y?: number | null
  locations: number
  message: string
}

export interface ProblemGroup {
  number: number
  cause: string
  statement: string
  remedy: string
  mode: 'foot' | 'wheelchair'
  count: number
  locations: number
  problems: PlanProblem[]
}

export interface RoutingReport {
  feet_per_unit: number
  /** Those that cost most first. Absent in reports of earlier releases. */
  groups?: ProblemGroup[]
}

const QUERY = 'query RoutingReport($map: ID!) { map(id: $map) { routingReport } }'

/** The report of the last processing of a map; null if it was not processed. */
export async function readRoutingReport(api: Api, map: string, signal?: AbortSignal): Promise<RoutingReport | null> {
  const answer = await api.graphql<{ map: { routingReport: RoutingReport | null } | null }>(QUERY, { map }, signal)
  return answer.data?.map?.routingReport ?? null
}

/** Position of a problem in the coordinates of the map, if it has one. */
export function positionOf(problem: PlanProblem, { feet_per_unit }: RoutingReport): { x: number; y: number } | undefined {
  const { x, y, map_x = x && x / feet_per_unit, map_y = y && y / feet_per_unit } = problem
  return map_x === null || map_y === null ? undefined : { x: map_x, y: map_y }
}

/** Markers of the problems on a floor, each with the number of its group, which pictures have too. */
export function problemMarkers(report: RoutingReport, floor: string | undefined): Marker[] {
  return (report.groups ?? []).flatMap(({ number, problems }) =>
    problems.flatMap((problem, index) => {
      const position = positionOf(problem, report)
      if (!position || problem.level_id !== floor) return []
      const id = `problem:${number}:${index}`
      return [{ id, ...position, kind: 'warning' as const, text: String(number), label: problem.message }]
    }),
  )
}
