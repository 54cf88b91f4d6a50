// Ask a service that fails first, with the TypeScript client: node retries.js URL

import { createFloorgate, FloorgateError } from '@floorgate/client'

const [url = ''] = process.argv.slice(2)
const client = createFloorgate({ url, key: 'key', flags: ['changes', 'distances'] })
const ask = (name: string) =>
  client.GET('/v1/maps/{map}/levels/tags', { params: { path: { map: `${name}-ts` } } })

for (const name of ['seconds', 'date', 'lost', 'same', 'same']) {
  const { data } = await ask(name)
  if (!data?.data) throw new Error(`${name}: no data`)
}
await client.POST('/v1/units/attribute-groups/{group-id}/assignments/remove', {
  params: { path: { 'group-id': 'post-ts' } },
  body: { data: [{ group_id: 'a', attribute_id: 'b', asset_id: 'c', unit_id: 'd' }] },
})
const errors: object[] = []
for (const name of ['down', 'broken', 'invalid', 'later', 'closed']) {
  const error: unknown = await ask(name).catch((reason: unknown) => reason)
  if (!(error instanceof FloorgateError)) throw error
  const { status, code, fields, requestId, docs, retryAfter } = error
  errors.push({
    type: error.name,
    status,
    code: code ?? null,
    fields,
    request_id: requestId ?? null,
    docs: docs ?? null,
    retry_after: retryAfter ?? null,
  })
}
console.log(JSON.stringify({ ts: errors }))
