// A `fetch` that tries again when the service says so, and answers a 304 from memory.

const RETRIES = 4
const RETRIED = new Set([429, 503])
const MAX_PAUSE_SECONDS = 60
const MAX_CHARACTERS = 50_000_000

type Fetch = (request: Request) => Promise<Response>

/** Seconds to wait before the next attempt: what the service says, else longer each time. */
function pauseAfter(response: Response | undefined, attempt: number): number {
  const asked = response?.headers.get('retry-after') ?? ''
  const named = /^\d+$/.test(asked) ? Number(asked) : (Date.parse(asked) - Date.now()) / 1000
  const seconds = Number.isNaN(named) ? 2 ** attempt / 10 : Math.max(named, 0)
  return Math.min(seconds, MAX_PAUSE_SECONDS)
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

/** Try again after 429, 503 and lost connections: every endpoint may be repeated. */
export function withRetries(send: Fetch): Fetch {
  return async (request) => {
    for (let attempt = 0; ; attempt++) {
      const copy = request.clone()
      try {
        const response = await send(copy)
        if (!RETRIED.has(response.status) || attempt === RETRIES) return response
        await response.body?.cancel()
        await pause(pauseAfter(response, attempt), request.signal)
      } catch (error) {
        if (request.signal.aborted || attempt === RETRIES) throw error
        await pause(pauseAfter(undefined, attempt), request.signal)
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
      return new Response(known.text, { headers: known.headers })
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
