// The public API as the explorer uses it: the typed REST client, and GraphQL for what takes one query.

import { type components, ConnectionFailedError, Floorgate, ResponseError } from '../../../typescript/src/index.js'

export { ResponseError }
export type Schemas = components['schemas']

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
  const send = (url: string, { method = 'GET', headers, body, ...init }: RequestInit) => {
    const type = new Headers(headers).get('content-type')
    const shown = { 'Experimental-Flags': FLAGS.join(','), ...(type && { 'Content-Type': type }) }
    onRequest?.({ method, url, headers: shown, ...(typeof body === 'string' && { body }) })
    return fetch(url, { method, headers, body, ...init })
  }
  const rest = new Floorgate({ url, key, flags: FLAGS, fetch: send })
  return {
    url: url.replace(/\/+$/, ''),
    key,
    rest,
    async readJson(path: string) {
      const found = rest.request('GET', path).then((response) => response.json())
      const answer = await found.catch((error) => {
        if (error instanceof ResponseError) return error.body
        throw error
      })
      return JSON.stringify(answer, null, 2)
    },
    async graphql<T>(query: string, variables = {}, signal?: AbortSignal) {
      const json = { query, variables }
      const response = await rest.withOptions({ signal }).request('POST', '/graphql', { json })
      const answer: GraphQLAnswer<T> = await response.json()
      if (answer.data !== undefined) return answer
      throw new ResponseError(response, answer)
    },
  }
}

/** All resources of a list, or null if the key may not read it. Throws what else goes wrong. */
export async function readAll<T>(items: AsyncIterable<T>): Promise<T[] | null> {
  const read = async () => {
    const all: T[] = []
    for await (const item of items) all.push(item)
    return all
  }
  return orNull(read(), 403)
}

/** What is found, or null if the response has this status. Throws what else goes wrong. */
export async function orNull<T>(found: Promise<T>, status: number): Promise<T | null> {
  return found.catch((error) => {
    if (error instanceof ResponseError && error.status === status) return null
    throw error
  })
}

/** What went wrong, as a sentence for people. */
export function toMessage(error: unknown, texts: { unreachable: string; notFound: string }): string {
  if (error instanceof ResponseError) return error.status === 404 ? texts.notFound : error.reason
  return error instanceof ConnectionFailedError ? texts.unreachable : String(error)
}
