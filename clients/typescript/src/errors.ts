// Errors as exceptions: those of the service by their stable code, and of the connection.

interface ErrorBody {
  message?: string
  code?: string
  /** In GraphQL. */
  errors?: { message: string; extensions?: { code?: string } }[]
  fields?: Record<string, string[]>
  request_id?: string
  docs?: string
}

/** Any error of the service, or on the way to it. */
export class FloorgateError extends Error {
  constructor(
    message: string,
    /** Whether to try again helps: the client has done so. */
    readonly isTemporary: boolean,
    /** How many seconds to wait before trying again, if the service says so. */
    readonly retryAfter?: number,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
  }
}

/** There was no response: `cause` is the error of `fetch`. */
export class ConnectionFailedError extends FloorgateError {
  constructor(url: string, cause: unknown) {
    const [text, hint, isTemporary] = describeFailure(url, cause)
    super(`No response from ${url}: ${text}${hint}`, isTemporary, undefined, { cause })
  }
}

/** An error response. `code` is stable; the wording of the message may change. */
export class ResponseError extends FloorgateError {
  readonly status: number
  readonly code: string | undefined
  /** The errors of each invalid input, by its name. */
  readonly fields: Record<string, string[]>
  readonly requestId: string | undefined
  /** Address of what the service says about the code. */
  readonly docs: string | undefined

  /** `body` is what its JSON says, or its text. */
  constructor(
    response: Response,
    readonly body: unknown,
    message = describe(response),
  ) {
    const found: ErrorBody = body instanceof Object ? body : {}
    const inGraphQL = found.errors?.[0]
    const isTemporary = response.status === 429 || response.status === 503
    super(found.message ?? inGraphQL?.message ?? message, isTemporary, secondsToWait(response))
    this.status = response.status
    this.code = found.code ?? inGraphQL?.extensions?.code
    this.fields = found.fields ?? {}
    this.requestId = found.request_id ?? response.headers.get('x-request-id') ?? undefined
    this.docs = found.docs
  }
}

/** No API key arrived. */
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
/** The key has made too many requests, and trying again has not helped or would take long. */
export class RateLimitedError extends ResponseError {}
/** The service cannot answer now, and trying again has not helped or would take long. */
export class UnavailableError extends ResponseError {}

const BY_CODE: Record<string, typeof ResponseError> = {
  CHANGES_EXPIRED: ChangesExpiredError,
  FLAG_REQUIRED: FlagRequiredError,
  PERMISSION_REQUIRED: PermissionRequiredError,
}
const BY_STATUS: Record<number, typeof ResponseError> = {
  401: UnauthenticatedError,
  403: ForbiddenError,
  404: NotFoundError,
  412: PreconditionFailedError,
  422: InvalidInputError,
  429: RateLimitedError,
  503: UnavailableError,
}

/** Return the exception of an error response with this body. */
export function errorOf(response: Response, text: string): ResponseError {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = text // not from the service but, say, from a proxy
  }
  const { code = '' }: ErrorBody = body instanceof Object ? body : {}
  return new (BY_CODE[code] ?? BY_STATUS[response.status] ?? ResponseError)(response, body)
}

function secondsToWait(response: Response): number | undefined {
  const asked = response.headers.get('retry-after') ?? ''
  const seconds = /^\d+$/.test(asked) ? Number(asked) : (Date.parse(asked) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0)
}

function describe(response: Response): string {
  if (response.type === 'opaqueredirect') return 'a redirect, which is not followed'
  const location = response.headers.get('location')
  const reason = response.statusText || `status ${response.status}` // browsers know no reason in HTTP/2
  return location ? `${reason}, to ${location}: redirects are not followed` : reason
}

/** Return what went wrong, what to say about it, and whether to try again may help. */
function describeFailure(url: string, error: unknown): [text: string, hint: string, isTemporary: boolean] {
  // Node.js says "fetch failed", and the reason in its cause; browsers say "Failed to fetch", and no reason.
  const reason = (error as { cause?: unknown })?.cause ?? error
  const { message, code = '' } = reason as { message?: string; code?: string | number }
  const text = message || String(code || reason)
  if (/CERT|UNABLE_TO_VERIFY/.test(String(code))) {
    return [text, '. To trust a certificate, name its file in NODE_EXTRA_CA_CERTS before Node.js starts', false]
  }
  if (/^ERR_SSL/.test(String(code))) {
    return [String(code), '. The service answers without TLS: its address begins with http://', false]
  }
  if (/^(UND_ERR_SOCKET|ECONNRESET|HPE_.+)$/.test(String(code)) && /^http:/i.test(url)) {
    return [text, '. Does its address begin with https://?', true]
  }
  const origin = globalThis.location?.origin
  if (!origin || !(reason instanceof TypeError)) return [text, '', true]
  return [text, `. Does it run, let in pages of ${origin} (FLOORGATE_CORS_ORIGINS), and have a trusted certificate?`, true]
}
