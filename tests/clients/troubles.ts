// Ask a service that is in trouble, with the TypeScript client: node troubles.js URL

import { ChangesExpiredError, createFloorgate, FloorgateError, ForbiddenError } from '@floorgate/client'

const [url = ''] = process.argv.slice(2)
const client = createFloorgate({ url, key: 'key' })
const headers = { 'X-Request-Id': 'mine' }
const ask = (name: string, signal?: AbortSignal) =>
  client.GET('/v1/maps/{map}/levels/tags', { params: { path: { map: name } }, headers, signal })

const { data, response } = await ask('cut')
await ask('same')
const again = await ask('same')
const errors: Record<string, object> = {}
for (const name of ['null', 'hours', 'elsewhere', 'expired', 'permission']) {
  const error: unknown = await ask(name).catch((reason: unknown) => reason)
  if (!(error instanceof FloorgateError)) throw error
  const isKind = error instanceof ForbiddenError || error instanceof ChangesExpiredError
  errors[name] = [error.name, error.status, error.message, isKind]
}
const late: unknown = await ask('minute', AbortSignal.timeout(500)).catch((reason: unknown) => reason)
console.log(
  JSON.stringify({
    cut: [data, new URL(response.url).pathname],
    same: [again.data, again.response.headers.get('X-Request-Id')],
    errors,
    late: late instanceof Error && late.name,
  }),
)
