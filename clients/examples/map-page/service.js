// Where the service is, and the key: both from the address of this page, so that the examples work with
// any service. A page of your own names both as attributes. A key in a page is public.

const given = new URLSearchParams(location.search)

export const url = given.get('url') ?? 'https://127.0.0.1:8443'
export const apiKey = given.get('key') ?? ''
export const map = given.get('map') ?? 'alder-court-floor-plates'

await import(`${url}/clients/floorgate-map.js`) // a page that knows the address has a script element
