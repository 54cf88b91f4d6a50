// Whether a key may ask for routes, and whether the map has any.

import type { Api } from './api.js'
import type { Reason } from './why.js'

export interface Availability {
  /** Whether the key may calculate distances. */
  allowed: boolean
  /** Why the map has no routes; without it, it has. */
  reason?: Extract<Reason, { code: 'not-processed' | 'stale' }>
}

interface Answer {
  map: {
    routing: { isRoutable: boolean; isStale: boolean; reason: string | null } | null
    closures: { connectors: string[] } | null
  } | null
}

// `closures` needs what routes need, and costs next to nothing.
const QUERY =
  'query Availability($map: ID!) { map(id: $map) { routing { isRoutable isStale reason } closures { connectors } } }'

/** Look up whether there are routes. */
export async function findAvailability(api: Api, map: string, signal?: AbortSignal): Promise<Availability> {
  const found = (await api.graphql<Answer>(QUERY, { map }, signal)).data?.map
  if (!found?.closures) return { allowed: false }
  if (!found.routing || found.routing.isRoutable) return { allowed: true }
  const { isStale, reason } = found.routing
  return { allowed: true, reason: isStale ? { code: 'stale', why: reason ?? '' } : { code: 'not-processed' } }
}
