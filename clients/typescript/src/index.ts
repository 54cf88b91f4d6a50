// The client: the endpoints of the OpenAPI description, typed, with retries, reuse of responses,
// errors as exceptions, and paging.

import createClient, { type Client, type ClientOptions, createQuerySerializer } from 'openapi-fetch'
import { errorOf } from './errors.js'
import type { components, paths } from './schema.js'
import { withRetries, withRevalidation } from './transport.js'

export * from './errors.js'
export type { components, paths } from './schema.js'

/** The types of the description by name, such as `Schemas['Unit']`. */
export type Schemas = components['schemas']

export interface Options {
  /** Address of the service, such as `https://floorgate.example`. */
  url: string
  key: string
  /** Experimental flags, such as `distances`. */
  flags?: string[]
  /** Another `fetch`, for proxies and tests. */
  fetch?: (request: Request) => Promise<Response>
}

/** Paths of lists with pages. */
export type ListPath = {
  [P in keyof paths]: paths[P] extends {
    get: { responses: { 200: { content: { 'application/json': { paging: unknown; data: unknown[] } } } } }
  }
    ? P
    : never
}[keyof paths]

type Get<P extends ListPath> = paths[P] extends { get: infer G } ? G : never
type Parameters_<P extends ListPath> = Get<P> extends { parameters: infer Q } ? Q : never

/** The resources in the list at a path. */
export type ItemOf<P extends ListPath> =
  Get<P> extends { responses: { 200: { content: { 'application/json': { data: (infer T)[] } } } } } ? T : never

const serialize = createQuerySerializer()

/** Send a list as one parameter, with commas between the items. */
function joinLists([name, value]: [string, unknown]): [string, unknown] {
  if (!Array.isArray(value)) return [name, value]
  return [name, value.map((item) => String(item).replace(/[\\,]/g, '\\$&')).join(',')]
}

/** Make a client. An error response is thrown as a `FloorgateError`. */
export function createFloorgate({ url, key, flags = [], fetch = globalThis.fetch }: Options): Client<paths> {
  const options: ClientOptions = {
    baseUrl: url.replace(/\/$/, ''),
    fetch: withRevalidation(withRetries((request) => fetch(request))),
    querySerializer: (query) => serialize(Object.fromEntries(Object.entries(query as object).map(joinLists))),
    headers: { 'API-Key': key, ...(flags.length && { 'Experimental-Flags': flags.join(',') }) },
  }
  const client = createClient<paths>(options)
  client.use({
    async onResponse({ response }) {
      if (response.status >= 400) throw await errorOf(response)
    },
  })
  return client
}

interface PageOf<T> {
  data: T[]
  paging: { next_url: string | null }
}

/** Yield the resources of all pages of a list.
 *
 * @example
 * for await (const unit of iterate(client, '/v1/units')) console.log(unit.name)
 */
export async function* iterate<P extends ListPath>(
  client: Client<paths>,
  path: P,
  parameters?: Pick<Parameters_<P>, keyof Parameters_<P> & ('path' | 'query')>,
): AsyncGenerator<ItemOf<P>> {
  const get = client.GET as unknown as (
    path: string,
    init: { params: unknown },
  ) => Promise<{ data?: PageOf<ItemOf<P>> }>
  const { query, ...rest } = { query: {}, ...parameters } as { query?: Record<string, unknown> }
  let next: Record<string, unknown> = { ...query }
  for (;;) {
    const { data: page } = await get(path, { params: { ...rest, query: next } })
    if (!page) return
    yield* page.data
    const after = page.paging.next_url && new URL(page.paging.next_url).searchParams.get('after')
    if (!after) return
    const { page: _number, 'per-page': _size, ...filters } = next
    next = { ...filters, after }
  }
}
