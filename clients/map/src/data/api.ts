// The public API as the explorer uses it: the typed REST client, and GraphQL for what takes one query.

import { createFloorgate, FloorgateError, type Floorgate, iterate } from '../../../typescript/src/index.js'
import { withRetries } from '../../../typescript/src/transport.js'

export { FloorgateError, type Floorgate, iterate }
export type { ItemOf, ListPath, Schemas } from '../../../typescript/src/index.js'

/** Experimental parts of the API that the explorer uses. */
export const FLAGS = ['distances', 'locations-resource', 'references', 'unit-attributes-resource']

export interface GraphQLAnswer<T> {
  data?: T | null
  errors?: { message: string; path?: (string | number)[]; extensions?: { code?: string } }[]
}

export interface Api {
  /** Address of the service, without a slash at its end. */
  readonly url: string
  readonly key: string
  readonly rest: Floorgate
  /** Read what a path answers, also an error, as text that is indented. */
  readJson(path: string): Promise<string>
  /** Run a query. Fields that the key may not read are null, and named in `errors`. */
  graphql<T>(query: string, variables?: object, signal?: AbortSignal): Promise<GraphQLAnswer<T>>
}

/** A request that is sent: what another tool needs to send the same, but for the key. */
export interface SentRequest {
  method: string
  url: string
  headers: Record<string, string>
  body?: string
}

/** Connect to a service with a key. Nothing is sent yet; `onRequest` gets what is. */
export function connect(url: string, key: string, onRequest?: (request: SentRequest) => void): Api {
  const address = url.replace(/\/+$/, '')
  const flags = { 'Experimental-Flags': FLAGS.join(',') }
  const send = async (request: Request) => {
    const body = request.body ? await request.clone().text() : undefined
    const type = request.headers.get('content-type')
    const headers = { ...flags, ...(type && { 'Content-Type': type }) }
    onRequest?.({ method: request.method, url: request.url, headers, ...(body !== undefined && { body }) })
    return fetch(request)
  }
  const rest = createFloorgate({ url: address, key, flags: FLAGS, fetch: send })
  const headers = { 'API-Key': key, ...flags, 'Content-Type': 'application/json' }
  const sendAgain = withRetries(send) // what is sent changes nothing
  return {
    url: address,
    key,
    rest,
    async readJson(path: string) {
      const response = await sendAgain(new Request(address + path, { headers: { 'API-Key': key, ...flags } }))
      return JSON.stringify(await response.json(), null, 2)
    },
    async graphql<T>(query: string, variables = {}, signal?: AbortSignal) {
      const body = JSON.stringify({ query, variables })
      const response = await sendAgain(new Request(`${address}/graphql`, { method: 'POST', headers, body, signal: signal ?? null }))
      const answer = (await response.json().catch(() => ({}))) as GraphQLAnswer<T>
      if (answer.data !== undefined) return answer
      throw new FloorgateError(response, { message: answer.errors?.[0]?.message })
    },
  }
}

/** All resources of a list, or null if the key may not read it. Throws what else goes wrong. */
export async function readAll<T>(items: AsyncIterable<T>): Promise<T[] | null> {
  const all: T[] = []
  try {
    for await (const item of items) all.push(item)
  } catch (error) {
    if (error instanceof FloorgateError && error.status === 403) return null
    throw error
  }
  return all
}

/** What went wrong, as a sentence for people. */
export function toMessage(error: unknown, texts: { unreachable: string; notFound: string }): string {
  if (error instanceof FloorgateError) return error.status === 404 ? texts.notFound : error.message
  return error instanceof TypeError ? texts.unreachable : String(error) // fetch throws a TypeError if nothing answers
}
