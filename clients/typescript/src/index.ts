// The client: the endpoints of the OpenAPI description, typed, with retries, reuse of responses,
// errors as exceptions, and paging.

import createClient, {
  type Client,
  type ClientOptions,
  type ClientPathsWithMethod,
  createQuerySerializer,
  type FetchResponse,
  type MaybeOptionalInit,
} from 'openapi-fetch'
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

type Optional<T> = {} extends T ? [T?] : [T]
type Endpoint<M extends 'get' | 'post' | 'put'> = <
  P extends ClientPathsWithMethod<Client<paths>, M>,
  I extends MaybeOptionalInit<paths[P], M>,
>(
  path: P,
  ...init: Optional<I>
) => Promise<Extract<FetchResponse<paths[P][M] & {}, I, `${string}/${string}`>, { data: unknown }>>

/** A client of openapi-fetch, of which each answer has `data`: errors are thrown. */
export interface Floorgate extends Pick<Client<paths>, 'use' | 'eject'> {
  GET: Endpoint<'get'>
  POST: Endpoint<'post'>
  PUT: Endpoint<'put'>
}

interface ListOf<T> {
  responses: { 200: { headers: { Link: unknown }; content: { 'application/json': { data: T[] } } } }
}

/** Paths of lists with pages. */
export type ListPath = { [P in keyof paths]: paths[P] extends { get: ListOf<unknown> } ? P : never }[keyof paths]

// With Pick, what Optional asks would be decided before P is known.
type ParametersOf<P extends ListPath> = Omit<paths[P]['get']['parameters'], 'cookie' | 'header'>

/** The resources in the list at a path. */
export type ItemOf<P extends ListPath> = paths[P] extends { get: ListOf<infer T> } ? T : never

const serialize = createQuerySerializer()

/** Send a list as one parameter, with commas between the items. */
function joinLists([name, value]: [string, unknown]): [string, unknown] {
  if (!Array.isArray(value)) return [name, value]
  return [name, value.map((item) => String(item).replace(/[\\,]/g, '\\$&')).join(',')]
}

/** A string is a drawing, the one kind of body that is not JSON. */
function bodyOf(body: unknown): Blob {
  return typeof body === 'string'
    ? new Blob([body], { type: 'application/vnd.map+xml' })
    : new Blob([JSON.stringify(body)], { type: 'application/json' })
}

/** Make a client. An error response is thrown as a `FloorgateError`. */
export function createFloorgate({ url, key, flags = [], fetch = globalThis.fetch }: Options): Floorgate {
  const options: ClientOptions = {
    baseUrl: url.replace(/\/$/, ''),
    fetch: withRevalidation(withRetries((request) => fetch(request))),
    redirect: 'manual', // fetch would send the key to any other server
    querySerializer: (query) => serialize(Object.fromEntries(Object.entries(query as object).map(joinLists))),
    bodySerializer: bodyOf,
    headers: {
      'API-Key': key,
      'Content-Type': null, // that of the body
      ...(flags.length && { 'Experimental-Flags': flags.join(',') }),
    },
  }
  const client = createClient<paths>(options)
  client.use({
    async onResponse({ response }) {
      if (!response.ok) throw await errorOf(response)
    },
  })
  return client as Floorgate
}

/** Yield the resources of all pages of a list.
 *
 * @example
 * for await (const unit of iterate(client, '/v1/units')) console.log(unit.name)
 */
export async function* iterate<P extends ListPath>(
  client: Floorgate,
  path: P,
  ...[parameters]: Optional<ParametersOf<P>>
): AsyncGenerator<ItemOf<P>> {
  const get = client.GET as unknown as (
    path: string,
    init: { params: unknown },
  ) => Promise<{ data: { data: ItemOf<P>[] }; response: Response }>
  let params: object = { ...parameters }
  for (;;) {
    const { data: page, response } = await get(path, { params })
    yield* page.data
    const next = /<([^>]*)>; *rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    if (!next) return
    params = { ...params, query: Object.fromEntries(new URL(next).searchParams) }
  }
}
