// What all resources share: requests, retries, the cache and lists.

import { ConnectionFailedError, errorOf, FloorgateError, parseJson, ResponseError } from './errors.js'

const MAX_RETRIES = 4
const MAX_PAUSE_SECONDS = 60
const MAX_CACHE_BYTES = 50_000_000

export interface Options {
  /** Address of the service, such as `https://floorgate.example`; by default that in `FLOORGATE_URL`. */
  url?: string | undefined
  /** An API key; by default that in `FLOORGATE_KEY`. */
  key?: string | undefined
  /** Experimental flags, such as `distances`. */
  flags?: readonly string[] | undefined
  /** The longest that an attempt may take, with the body of its response; 30 by default. */
  timeoutSeconds?: number | undefined
  /** More headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Ends requests, with all their attempts. */
  signal?: AbortSignal | undefined
  /** Another `fetch`, for proxies and tests. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

type Query = Readonly<Record<string, unknown>>

/** Completes the method and path of a request. */
export interface Content {
  /** These take the place of `{}` in the path. */
  ids?: readonly string[]
  /** A list is sent with commas between its items. */
  query?: Query
  json?: unknown
  drawing?: string | Blob | Uint8Array
}

/** A response and its body. */
interface Read {
  response: Response
  body: ArrayBuffer
}

/** Sends requests to one service with one API key. */
export class Core {
  // Private fields are not shown by console.log: one of them has the key.
  readonly #options: Options
  readonly #url: string
  readonly #headers: Headers
  #cache = new ResponseCache()
  #isPatient = false

  /** Make a client of the service at `url`. Throws TypeError. */
  constructor(options: Options = {}) {
    const { env = {} } = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process ?? {}
    const { url = '', key, flags = [], headers } = options
    this.#options = options
    this.#url = toAddress(url || env.FLOORGATE_URL)
    this.#headers = new Headers({ ...headers, 'API-Key': toKey(key || env.FLOORGATE_KEY) })
    if (flags.length) this.#headers.set('Experimental-Flags', flags.join(','))
  }

  /** Return a client with other flags, another timeout, a signal or more headers, and the same cache. */
  withOptions(options: Pick<Options, 'flags' | 'headers' | 'signal' | 'timeoutSeconds'>): this {
    const Client = this.constructor as new (options: Options) => this
    const headers = { ...this.#options.headers, ...options.headers }
    const other = new Client({ ...this.#options, ...options, headers })
    other.#cache = this.#cache
    return other
  }

  /** Return a client that repeats requests for as long as their errors are temporary. */
  patient(): this {
    const other = this.withOptions({})
    other.#isPatient = true
    return other
  }

  /** Send a request, up to five times, and return its response. Throws FloorgateError, and the reason of the signal. */
  async request(method: string, path: string, { ids = [], query = {}, json, drawing }: Content = {}): Promise<Response> {
    const url = this.#url + toPath(path, ids) + toSearch(query)
    const headers = new Headers(this.#headers)
    if (json !== undefined) headers.set('Content-Type', 'application/json')
    if (drawing !== undefined) headers.set('Content-Type', 'application/vnd.map+xml')
    const body = (drawing ?? JSON.stringify(json)) as BodyInit | undefined
    const cached = method === 'GET' ? this.#cache.get(url) : undefined
    if (cached) headers.set('If-None-Match', cached.response.headers.get('etag') ?? '')
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(url, { method, headers, body }, cached)
      if (!(outcome instanceof FloorgateError)) {
        if (method === 'GET') this.#cache.put(url, outcome)
        return new Response(outcome.body.byteLength ? outcome.body : null, outcome.response)
      }
      const seconds = outcome.retryAfter ?? (0.1 + Math.random() / 10) * 2 ** Math.min(attempt, 7)
      const isLast = attempt === MAX_RETRIES || seconds > MAX_PAUSE_SECONDS
      if (!outcome.isTemporary || (isLast && !this.#isPatient)) throw outcome
      await this.pause(Math.min(seconds, MAX_PAUSE_SECONDS))
    }
  }

  async #attempt(url: string, init: RequestInit, cached: Read | undefined): Promise<Read | FloorgateError> {
    const { signal, timeoutSeconds = 30, fetch = globalThis.fetch } = this.#options
    const timeout = AbortSignal.timeout(timeoutSeconds * 1000)
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout
    try {
      signal?.throwIfAborted()
      // A redirect would be sent the key, also at another server.
      const response = await fetch(url, { ...init, redirect: 'manual', signal: either })
      const body = await response.arrayBuffer()
      if (cached && response.status === 304) return cached
      return response.ok ? { response, body } : errorOf(response, new TextDecoder().decode(body))
    } catch (error) {
      signal?.throwIfAborted()
      return new ConnectionFailedError(this.#url, timeout.aborted ? timeout.reason : error)
    }
  }

  /** Wait. Throws the reason of the signal. */
  async pause(seconds: number): Promise<void> {
    const { signal } = this.#options
    signal?.throwIfAborted()
    await new Promise<void>((resolve) => {
      const finish = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', finish)
        resolve()
      }
      const timer = setTimeout(finish, seconds * 1000)
      signal?.addEventListener('abort', finish)
    })
    signal?.throwIfAborted()
  }
}

/** Keeps the latest responses, for when a 304 says that one of them still holds: a tag is of equal bodies only. */
class ResponseCache {
  readonly #responses = new Map<string, Read>()
  #bytes = 0

  get(url: string): Read | undefined {
    return this.#responses.get(url)
  }

  put(url: string, read: Read): void {
    if (read.response.status !== 200 || !read.response.headers.has('etag')) return
    if (read.body.byteLength > MAX_CACHE_BYTES) return
    this.#drop(url)
    this.#responses.set(url, read)
    this.#bytes += read.body.byteLength
    while (this.#bytes > MAX_CACHE_BYTES) this.#drop(this.#responses.keys().next().value as string)
  }

  #drop(url: string): void {
    this.#bytes -= this.#responses.get(url)?.body.byteLength ?? 0
    this.#responses.delete(url)
  }
}

/** Holds what the methods of one place in the API need. */
export class Resource {
  constructor(
    protected readonly _core: Core,
    /** The ids in its path. */
    protected readonly _ids: readonly string[] = [],
  ) {}
}

/** Return a resource that is also a function, for what belongs to one: `client.maps(map)`. */
export function callable<R extends object, One>(resource: R, one: (id: string) => One): R & typeof one {
  return Object.setPrototypeOf(one, resource)
}

/** One page of a list. */
export interface Page<T> { data: T[] }

/** Iterates over the resources of a list, and requests its pages on the way. */
export class List<T> implements AsyncIterable<T> {
  readonly #request: [core: Core, method: string, path: string, content: Content]

  constructor(...request: [core: Core, method: string, path: string, content: Content]) {
    this.#request = request
  }

  /** Yield the resources of all pages. Throws FloorgateError. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }

  /** Yield the pages. Throws FloorgateError. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    const [core, method, path, content] = this.#request
    for (let query = content.query; ; ) {
      const response = await core.request(method, path, { ...content, query })
      yield await readJson<Page<T>>(response, ({ data }) => Array.isArray(data))
      const next = /<([^>]*)>; *rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      if (!next) return
      query = Object.fromEntries(new URL(next).searchParams) // behind a proxy, only its query may be right
    }
  }
}

/** Return the object in a response, if it has what it needs. Throws FloorgateError. */
export async function readJson<T>(response: Response, isComplete: (value: Partial<T>) => boolean = () => true): Promise<T> {
  const value = parseJson(await response.text()) as T
  if (value instanceof Object && !Array.isArray(value) && isComplete(value)) return value
  throw new ResponseError(response, value, 'Not what the API sends: is the address that of the service?')
}

/** Return a query by the names of the API, such as `per-page` for `per_page`. Throws TypeError. */
export function toQuery(query: object, names: readonly string[]): Query {
  const known = new Map(names.map((name) => [name.replaceAll('-', '_'), name]))
  const unknown = Object.keys(query).find((name) => !known.has(name))
  if (unknown) throw new TypeError(`There is no parameter ${unknown}; there are ${[...known.keys()].join(', ')}`)
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [known.get(name), value]))
}

function toAddress(url = ''): string {
  if (!url) throw new TypeError('There is no address: pass one as `url`, or set FLOORGATE_URL')
  const [, address = '', path] = /^(https?:\/\/[^?#]*?)(\/v1|\/graphql)?\/*$/i.exec(url) ?? []
  if (!URL.canParse(address)) throw new TypeError(`An address is https:// or http://, host, port and path, unlike '${url}'`)
  if (path) throw new TypeError(`The address goes without ${path}: '${address}' instead of '${url}'`)
  return address
}

function toKey(text = ''): string {
  const key = text.trim()
  if (!key) throw new TypeError('There is no API key: pass one as `key`, or set FLOORGATE_KEY')
  if (/[^!-~]/.test(key)) throw new TypeError('The API key has a character that keys do not have, such as a space')
  return key
}

function toPath(path: string, ids: readonly string[]): string {
  const rest = ids.values()
  return path.replaceAll('{}', () => {
    const id = rest.next().value ?? ''
    if (/^\.{0,2}$/.test(id)) throw new TypeError(`'${id}' is not an id`) // it would name another path
    return encodeURIComponent(id)
  })
}

function toSearch(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const search = new URLSearchParams(given.map(([name, value]) => [name, toText(value)]))
  return given.length ? `?${search}` : ''
}

function toText(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  if (!Array.isArray(value)) return String(value)
  return value.map((item) => String(item).replace(/[\\,]/g, '\\$&')).join(',')
}
