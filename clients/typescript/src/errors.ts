// Errors of the service as exceptions, by their stable code.

import { secondsToWait } from './transport.js'

interface ErrorBody {
  message?: string
  code?: string
  fields?: Record<string, string[]>
  request_id?: string
  docs?: string
}

/** An error response. `code` is stable; the wording of the message may change. */
export class FloorgateError extends Error {
  readonly status: number
  readonly code: string | undefined
  /** The errors of each invalid input, by its name. */
  readonly fields: Record<string, string[]>
  readonly requestId: string | undefined
  /** Address of what the service says about the code. */
  readonly docs: string | undefined
  /** How many seconds to wait before trying again, if the service says so. */
  readonly retryAfter: number | undefined

  constructor(response: Response, body: ErrorBody) {
    const place = response.headers.get('location')
    const reason = place ? `redirects are not followed: ${place}` : response.statusText
    super(body.message ?? (reason || `status ${response.status}`)) // browsers name no reason in HTTP/2
    this.name = new.target.name
    this.status = response.status
    this.code = body.code
    this.fields = body.fields ?? {}
    this.requestId = body.request_id ?? response.headers.get('x-request-id') ?? undefined
    this.docs = body.docs
    this.retryAfter = secondsToWait(response)
  }
}

/** No API key arrived. */
export class UnauthenticatedError extends FloorgateError {}
/** The key is unknown, revoked or expired, or lacks a permission. */
export class ForbiddenError extends FloorgateError {}
/** The key lacks the permission of the endpoint. */
export class PermissionRequiredError extends ForbiddenError {}
/** There is no such resource, or the key does not see it. */
export class NotFoundError extends FloorgateError {}
/** An input is invalid; `fields` says which. */
export class InvalidInputError extends FloorgateError {}
/** The endpoint is experimental: name its flag in `flags` of the client. */
export class FlagRequiredError extends FloorgateError {}
/** The changes after the cursor are no longer known: copy the directory again. */
export class ChangesExpiredError extends FloorgateError {}
/** The resource has changed since it was read. */
export class PreconditionFailedError extends FloorgateError {}
/** The key has made too many requests, also after the client's retries. */
export class RateLimitedError extends FloorgateError {}
/** The service cannot answer now, also after the client's retries. */
export class UnavailableError extends FloorgateError {}

const BY_CODE: Record<string, typeof FloorgateError> = {
  CHANGES_EXPIRED: ChangesExpiredError,
  FLAG_REQUIRED: FlagRequiredError,
  PERMISSION_REQUIRED: PermissionRequiredError,
}
const BY_STATUS: Record<number, typeof FloorgateError> = {
  401: UnauthenticatedError,
  403: ForbiddenError,
  404: NotFoundError,
  412: PreconditionFailedError,
  422: InvalidInputError,
  429: RateLimitedError,
  503: UnavailableError,
}

/** The exception of an error response. */
export async function errorOf(response: Response): Promise<FloorgateError> {
  const found: unknown = await response.json().catch(() => null)
  const body: ErrorBody = found instanceof Object ? found : {}
  const type = BY_CODE[body.code ?? ''] ?? BY_STATUS[response.status] ?? FloorgateError
  return new type(response, body)
}
