// Every text of the component, in English. `texts` of the element replaces any of them.

import { ROUTE_TEXTS } from './texts/routes.js'
import { WARNING_TEXTS } from './texts/warnings.js'

export const ENGLISH = {
  // the map
  mapOf: 'Map of {name}',
  loading: 'Loading the map',
  noMap: 'Choose a map',
  noKey: 'An API key is needed to show a map',
  noDrawing: 'This map has no drawing to show',
  notFound: 'There is no such map, or the key may not see it',
  unreachable: 'The service cannot be reached. Is its address right, and may pages of this site call it?',
  tryAgain: 'Try again',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  showAll: 'Show the whole floor',
  floors: 'Floors',
  close: 'Close',

  // search
  search: 'Search units and amenities',
  results: '{count} results',
  oneResult: '1 result',
  noResults: 'Nothing found',
  moreResults: '{count} results; the first {shown} are listed',

  // the card of a unit or an amenity
  floor: 'Floor',
  asset: 'Property',
  attributes: 'Attributes',
  references: 'Ids in other systems',
  location: 'Location',
  tags: 'Tags',
  routeTo: 'Route to here',
  routeFrom: 'Route from here',
  asJson: 'As JSON',
  asGraphql: 'As GraphQL',
  asCurl: 'As curl',
  openReference: 'Open in the API reference',
  openGraphiql: 'Open in GraphiQL',
  copy: 'Copy',
  copied: 'Copied',
  unitNotFound: 'The key does not see this unit',

  // colours and amenities
  layers: 'Colours and amenities',
  colorBy: 'Colour units by',
  noColor: 'Nothing',
  legend: 'Legend',
  unitCount: '{count} units',
  amenities: 'Amenities',
  allAmenities: 'All',
  noAmenities: 'None',

  route: 'Route',
  ...ROUTE_TEXTS,
  ...WARNING_TEXTS,
} as const

export type Texts = { [name in keyof typeof ENGLISH]: string }

/** Fill the `{names}` of a text. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => String(values[name] ?? slot))
}
