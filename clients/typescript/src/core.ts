// What the client does with each request: addresses, retries, reuse of responses, errors, pages.

import { ConnectionFailedError, errorOf, FloorgateError, ResponseError } from './errors.js'

const RETRIES = 4
const MAX_PAUSE_SECONDS = 60
/** Of all bodies that are kept for responses without a body, by their `ETag`. */
const MAX_KEPT_BYTES = 50_000_000

export interface Options {
  /** Address of the service, such as `https://floorgate.example`; by default that in `FLOORGATE_URL`. */
  url?: string | undefined
  /** An API key; by default that in `FLOORGATE_KEY`. */
  key?: string | undefined
  /** Experimental flags, such as `distances`. */
  flags?: readonly string[] | undefined
  /** How long each attempt may take, with the body of the response: 30 by default. */
  timeoutSeconds?: number | undefined
  /** More headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Ends requests, with all their attempts. */
  signal?: AbortSignal | undefined
  /** Another `fetch`, for proxies and tests. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

type Query = Readonly<Record<string, unknown>>

/** What a request has beside its method and path. */
export interface Content {
  /** They take the place of `{}` in the path. */
  ids?: readonly string[]
  /** A list is sent with commas between its items. */
  query?: Query
  json?: unknown
  drawing?: string | Blob | Uint8Array
}

/** A client without the resources. */
export class Core {
  // Not shown by console.log: one of them is the key.
  readonly #options: Options
  readonly #url: string
  readonly #headers: Headers
  #kept = new KeptResponses()

  /** Make a client of the service at `url`. Throws TypeError. */
  constructor(options: Options = {}) {
    const { url, key, flags = [], headers } = options
    const { FLOORGATE_URL, FLOORGATE_KEY } = (globalThis as Environment).process?.env ?? {} // browsers have none
    this.#options = options
    this.#url = toAddress(url || FLOORGATE_URL)
    const usedKey = key || FLOORGATE_KEY
    if (!usedKey) throw new TypeError('There is no API key: pass one as `key`, or set FLOORGATE_KEY')
    this.#headers = new Headers({ ...headers, 'API-Key': usedKey })
    if (flags.length) this.#headers.set('Experimental-Flags', flags.join(','))
  }

  /** Return a client with another timeout, a signal or more headers, which knows the same responses. */
  withOptions(options: Pick<Options, 'headers' | 'signal' | 'timeoutSeconds'>): this {
    const Client = this.constructor as new (options: Options) => this
    const headers = { ...this.#options.headers, ...options.headers }
    const other = new Client({ ...this.#options, ...options, headers })
    other.#kept = this.#kept
    return other
  }

  /** Return the response to any request, with its headers. Throws FloorgateError, and the reason of the signal. */
  async request(method: string, path: string, { ids = [], query = {}, json, drawing }: Content = {}): Promise<Response> {
    const url = this.#url + toPath(path, ids) + toSearch(query)
    const headers = new Headers(this.#headers)
    if (json !== undefined) headers.set('Content-Type', 'application/json')
    if (drawing !== undefined) headers.set('Content-Type', 'application/vnd.map+xml')
    const body = (drawing ?? JSON.stringify(json)) as BodyInit | undefined
    const kept = method === 'GET' ? this.#kept.get(url, headers) : undefined
    if (kept) headers.set('If-None-Match', kept.response.headers.get('etag') ?? '')
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(url, { method, headers, body }, kept)
      if (!(outcome instanceof FloorgateError)) {
        if (method === 'GET') this.#kept.keep(url, headers, outcome)
        return new Response(outcome.body.byteLength ? outcome.body : null, outcome.response)
      }
      const seconds = outcome.retryAfter ?? (0.1 + Math.random() / 10) * 2 ** attempt
      if (!outcome.isTemporary || attempt === RETRIES || seconds > MAX_PAUSE_SECONDS) throw outcome
      await this.pause(seconds)
    }
  }

  async #attempt(url: string, init: RequestInit, kept: Read | undefined): Promise<Read | FloorgateError> {
    const { signal, timeoutSeconds = 30, fetch = globalThis.fetch } = this.#options
    const timeout = AbortSignal.timeout(timeoutSeconds * 1000)
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout
    try {
      signal?.throwIfAborted()
      // A redirect would be sent the key, also at another server.
      const response = await fetch(url, { ...init, redirect: 'manual', signal: either })
      const body = await response.arrayBuffer()
      if (kept && response.status === 304) return kept
      return response.ok ? { response, body } : errorOf(response, new TextDecoder().decode(body))
    } catch (error) {
      signal?.throwIfAborted()
      return new ConnectionFailedError(this.#url, timeout.aborted ? timeout.reason : error)
    }
  }

  /** Wait; the signal ends it. */
  pause(seconds: number): Promise<void> {
    const { signal } = this.#options
    return new Promise((resolve, reject) => {
      const finish = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', finish)
        if (signal?.aborted) reject(signal.reason)
        else resolve()
      }
      const timer = setTimeout(finish, seconds * 1000)
      signal?.addEventListener('abort', finish)
      if (signal?.aborted) finish()
    })
  }
}

/** A response whose body has been read. */
interface Read {
  response: Response
  body: ArrayBuffer
}

/** The responses that a 304 may stand for; the least recently used ones leave first. */
class KeptResponses {
  readonly #kept = new Map<string, Read>()
  #bytes = 0

  get(url: string, headers: Headers): Read | undefined {
    return this.#kept.get(keyOf(url, headers))
  }

  keep(url: string, headers: Headers, read: Read): void {
    if (read.response.status !== 200 || !read.response.headers.has('etag')) return
    const key = keyOf(url, headers)
    this.#drop(key)
    this.#kept.set(key, read)
    this.#bytes += read.body.byteLength
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= MAX_KEPT_BYTES) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.body.byteLength ?? 0
    this.#kept.delete(key)
  }
}

function keyOf(url: string, headers: Headers): string {
  return [url, ...['api-key', 'experimental-flags', 'accept'].map((name) => headers.get(name))].join('\n')
}

/** A place in the API; `ids` are those in its path. */
export class Resource {
  protected readonly _ids: readonly string[]

  constructor(
    protected readonly _core: Core,
    ...ids: string[]
  ) {
    this._ids = ids
  }
}

/** Return a resource that is also a function, for what belongs to one: `client.maps(map)`. */
export function callable<R extends object, One>(resource: R, one: (id: string) => One): R & typeof one {
  return Object.setPrototypeOf(one, resource)
}

/** One page of a list. */
export interface Page<T> {
  data: T[]
}

/** The resources of a list, whose pages are asked for as the iteration needs them. */
export class List<T> implements AsyncIterable<T> {
  readonly #core: Core
  readonly #arguments: [method: string, path: string, content: Content]

  constructor(core: Core, method: string, path: string, content: Content = {}) {
    this.#core = core
    this.#arguments = [method, path, content]
  }

  /** Yield the resources of all pages. Throws FloorgateError. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }

  /** Yield the pages. Throws FloorgateError. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    const [method, path, content] = this.#arguments
    for (let query = content.query; ; ) {
      const response = await this.#core.request(method, path, { ...content, query })
      yield await readJson<Page<T>>(response)
      const next = /<([^>]*)>; *rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      if (!next) return
      query = Object.fromEntries(new URL(next).searchParams) // at an address that only others may reach
    }
  }
}

/** Return what the JSON of a response says. Throws FloorgateError. */
export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    throw new ResponseError(response, text, 'The response is not JSON: is the address that of the service?')
  }
}

/** Return a query by the names of the API, such as `per-page` for `per_page`. Throws TypeError. */
export function toQuery(query: object, names: readonly string[]): Query {
  const byName = new Map(names.map((name) => [name.replaceAll('-', '_'), name]))
  const toName = (name: string) => {
    const found = byName.get(name)
    if (!found) throw new TypeError(`There is no parameter ${name}; there are ${[...byName.keys()].join(', ')}`)
    return found
  }
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [toName(name), value]))
}

interface Environment {
  process?: { env?: Partial<Record<'FLOORGATE_URL' | 'FLOORGATE_KEY', string>> }
}

function toAddress(url: string | undefined): string {
  if (!url) throw new TypeError('There is no address: pass one as `url`, or set FLOORGATE_URL')
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new TypeError(`The address begins with https:// or http://, unlike '${url}'`)
  }
  const address = url.replace(/\/+$/, '')
  const path = /\/(v1|graphql)$/.exec(address)?.[0]
  if (path) throw new TypeError(`The address goes without ${path}: '${address.slice(0, -path.length)}' instead of '${url}'`)
  return address
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
