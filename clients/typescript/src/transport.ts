// A `fetch` that tries again when the service says so, and answers a 304 from memory.

const RETRIES = 4
const RETRIED = new Set([429, 503])
const MAX_PAUSE_SECONDS = 60
const MAX_CHARACTERS = 50_000_000

type Fetch = (request: Request) => Promise<Response>

/** How many seconds to wait before the next attempt, if the service says so. */
export function secondsToWait(response: Response): number | undefined {
  const asked = response.headers.get('retry-after') ?? ''
  const seconds = /^\d+$/.test(asked) ? Number(asked) : (Date.parse(asked) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0)
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, seconds * 1000)
    function done() {
      signal.removeEventListener('abort', stop)
      resolve()
    }
    function stop() {
      clearTimeout(timer)
      reject(signal.reason)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** Try again after 429, 503 and lost connections: every endpoint may be repeated.
 *
 * The body has then arrived. A response that names a longer pause than a minute is the last one.
 */
export function withRetries(send: Fetch): Fetch {
  return async (request) => {
    for (let attempt = 0; ; attempt++) {
      const pauseByDefault = 2 ** attempt / 10
      const copy = request.clone()
      try {
        const response = await send(copy)
        await response.clone().arrayBuffer()
        const seconds = secondsToWait(response) ?? pauseByDefault
        const isLast = !RETRIED.has(response.status) || attempt === RETRIES || seconds > MAX_PAUSE_SECONDS
        if (isLast) return response
        await pause(seconds, request.signal)
      } catch (error) {
        if (request.signal.aborted || attempt === RETRIES) throw error
        await pause(pauseByDefault, request.signal)
      }
    }
  }
}

interface Kept {
  etag: string
  headers: [string, string][]
  text: string
}

/** Send the ETag of the last response to a GET, and answer a 304 with it. */
export function withRevalidation(send: Fetch, maxCharacters = MAX_CHARACTERS): Fetch {
  const kept = new Map<string, Kept>()
  let size = 0
  const drop = (url: string) => {
    size -= kept.get(url)?.text.length ?? 0
    kept.delete(url)
  }
  return async (request) => {
    if (request.method !== 'GET' || request.headers.has('if-none-match')) return send(request)
    const known = kept.get(request.url)
    if (known) request.headers.set('If-None-Match', known.etag)
    const response = await send(request)
    if (known && response.status === 304) {
      drop(request.url) // and add it again, as the one used last
      kept.set(request.url, known)
      size += known.text.length
      const headers = new Headers(known.headers)
      response.headers.forEach((value, name) => headers.set(name, value))
      headers.delete('content-length') // of another body: some proxies send 0 with a 304
      return new Response(known.text, { headers })
    }
    const etag = response.headers.get('etag')
    if (response.status !== 200 || !etag) return response
    const text = await response.clone().text()
    drop(request.url)
    kept.set(request.url, { etag, headers: [...response.headers], text })
    size += text.length
    for (const url of kept.keys()) {
      if (size <= maxCharacters) break
      drop(url)
    }
    return response
  }
}
