// Errors as exceptions: those of the connection, and those of the service by status and code.

/** The JSON of an error, in REST or in GraphQL. */
interface ErrorBody {
  message?: string
  code?: string
  fields?: Record<string, string[]>
  request_id?: string
  docs?: string
  errors?: { message: string; extensions?: { code?: string } }[]
}

/** A request has failed, also after retries where these might help. */
export class FloorgateError extends Error {
  constructor(
    message: string,
    /** True if the same request may succeed later. */
    readonly isTemporary: boolean,
    /** The service asks to wait for this many seconds; undefined if it does not. */
    readonly retryAfter?: number,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
  }
}

/** There is no response; `cause` is the error of `fetch`. */
export class ConnectionFailedError extends FloorgateError {
  constructor(url: string, cause: unknown) {
    const [text, isTemporary = true] = describeFailure(url, cause)
    super(`No response from ${url}: ${text}`, isTemporary, undefined, { cause })
  }
}

/** The response is an error. `code` is stable, the wording of the message may change. */
export class ResponseError extends FloorgateError {
  readonly status: number
  /** What the message says after the status and the code. */
  readonly reason: string
  readonly code: string | undefined
  /** Maps the name of each invalid input to what is wrong with it. */
  readonly fields: Record<string, string[]>
  readonly requestId: string | undefined
  /** Links to a page about the code. */
  readonly docs: string | undefined

  constructor(
    response: Response,
    /** The JSON of the response as a value, or else its text. */
    readonly body: unknown,
    reason = describeStatus(response),
  ) {
    const found: ErrorBody = body instanceof Object ? body : {}
    const inGraphQL = found.errors?.[0]
    const { status } = response
    const code = found.code ?? inGraphQL?.extensions?.code
    const said = found.message ?? inGraphQL?.message ?? reason
    const isTemporary = [429, 502, 503, 504].includes(status)
    super(`${status}${code ? ` ${code}` : ''}: ${said}`, isTemporary, readRetryAfter(response))
    this.status = status
    this.reason = said
    this.code = code
    this.fields = found.fields ?? {}
    this.requestId = found.request_id ?? response.headers.get('x-request-id') ?? undefined
    this.docs = found.docs
  }
}

/** The request has no API key, or more than one. */
export class UnauthenticatedError extends ResponseError {}
/** The key is unknown, revoked or expired, or lacks a permission. */
export class ForbiddenError extends ResponseError {}
/** The key lacks the permission of the endpoint. */
export class PermissionRequiredError extends ForbiddenError {}
/** There is no such resource, or the key does not see it. */
export class NotFoundError extends ResponseError {}
/** An input is invalid; `fields` says which. */
export class InvalidInputError extends ResponseError {}
/** The endpoint is experimental; name its flag in `flags` of the client. */
export class FlagRequiredError extends ResponseError {}
/** The changes after the cursor are no longer known; copy the directory again. */
export class ChangesExpiredError extends ResponseError {}
/** The resource has changed since it was read. */
export class PreconditionFailedError extends ResponseError {}
/** The key has made too many requests. */
export class RateLimitedError extends ResponseError {}
/** The service cannot respond now. */
export class UnavailableError extends ResponseError {}

/** A code is looked up before a status. */
const KINDS: Record<string | number, typeof ResponseError> = {
  401: UnauthenticatedError,
  403: ForbiddenError,
  404: NotFoundError,
  412: PreconditionFailedError,
  422: InvalidInputError,
  429: RateLimitedError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
  CHANGES_EXPIRED: ChangesExpiredError,
  FLAG_REQUIRED: FlagRequiredError,
  PERMISSION_REQUIRED: PermissionRequiredError,
}

/** Return the exception of an error response with this body. */
export function errorOf(response: Response, text: string): ResponseError {
  const body = parseJson(text)
  const { code = '' }: ErrorBody = body instanceof Object ? body : {}
  return new (KINDS[code] ?? KINDS[response.status] ?? ResponseError)(response, body)
}

/** Return the value of JSON; a text that is none, of a proxy for example, is its own value. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function readRetryAfter(response: Response): number | undefined {
  const value = response.headers.get('retry-after') ?? ''
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0)
}

function describeStatus({ type, statusText, status, headers }: Response): string {
  if (type === 'opaqueredirect') return 'a redirect, which is not followed'
  const reason = statusText || `status ${status}` // browsers know no reason in HTTP/2
  const location = headers.get('location')
  return location ? `${reason}, to ${location}: redirects are not followed` : reason
}

/** Return what went wrong and what may help, and false if the same request cannot succeed later. */
function describeFailure(url: string, error: unknown): [text: string, isTemporary?: false] {
  // Node.js says "fetch failed", and the reason in its cause; browsers say "Failed to fetch", and no reason.
  const reason = (error as { cause?: unknown })?.cause ?? error
  const { message, code } = reason as { message?: string; code?: unknown }
  const kind = String(code ?? '')
  const text = message || kind || String(reason)
  if (/CERT|UNABLE_TO_VERIFY/.test(kind)) {
    return [`${text}. To trust a certificate, name its file in NODE_EXTRA_CA_CERTS before Node.js starts`, false]
  }
  if (/^ERR_SSL/.test(kind)) return [`${kind}. The service answers without TLS: its address begins with http://`, false]
  if (/^(UND_ERR_SOCKET|ECONNRESET|HPE_.+)$/.test(kind) && /^http:/i.test(url)) {
    return [`${text}. Does its address begin with https://?`]
  }
  const page = globalThis.location?.origin
  if (!page || !(reason instanceof TypeError)) return [text]
  const permit = `'floorgate keys create --origin ${page}' or FLOORGATE_CORS_ORIGINS allows them`
  return [`${text}. Does the service run, with a trusted certificate, and allow pages of ${page}? ${permit}`]
}
