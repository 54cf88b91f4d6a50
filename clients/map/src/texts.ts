// Every text of the component, in English. `texts` of the element replaces any of them. Slots in braces are filled.

export const ENGLISH = {
  /** Of numbers, units and lists, as a language tag. */
  language: 'en',

  // the map
  mapOf: 'Map of {name}',
  loading: 'Loading the map',
  noMap: 'Choose a map',
  noKey: 'An API key is needed to show a map',
  noDrawing: 'This map has no drawing to show',
  selected: 'Selected: {name}',
  notFound: 'There is no such map, or the key may not see it',
  unreachable: 'The service cannot be reached. Is its address right, and may pages of this site call it?',
  tryAgain: 'Try again',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  showAll: 'Show the whole floor',
  floors: 'Floors',
  close: 'Close',
  showMore: 'Show more of the panel',
  showLess: 'Show less of the panel',

  // search
  search: 'Search units and amenities',
  results: '{count} results',
  oneResult: '1 result',
  noResults: 'Nothing found',
  /** What people call amenities: the value of a tag, a colon, other words for it. */
  synonyms:
    'fitness_centre: gym, workout, sport; fitness_studio: gym; swimming_pool: pool, swim; laundry: washing machine; ' +
    'parcel_locker: package, post, delivery; letter_box: post, letters; bicycle_parking: bike, cycle; ' +
    'animal_wash: dog, pet; meeting_room: conference; coworking_space: office, desk; recycling: trash, rubbish, bins; ' +
    'waste: trash, rubbish, bins; storage: locker; toilets: restroom, bathroom, wc; shower: bathroom; ' +
    'reception_desk: entrance, concierge; property_management: leasing, manager; parking: car, garage; ' +
    'indoor_play: kids, children; amusement_arcade: games; cinema: movies, film; cafe: coffee; kitchen: cooking',
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
  loadingDetails: 'Loading',
  placeNotFound: 'There is no such place, or the key may not see it',

  // colours and amenities
  layers: 'Colours and amenities',
  colorBy: 'Colour units by',
  noColor: 'Nothing',
  legend: 'Legend',
  unitCount: '{count} units',
  oneUnit: '1 unit',
  amenities: 'Amenities',
  allAmenities: 'All',
  noAmenities: 'None',

  // routes
  routes: 'Routes',
  hereIs: 'You are here: {name}',
  here: 'You are here',
  hereUnknown: 'The place of this sign is not on the map. Choose where you are.',
  whereTo: 'Where to?',
  suggestions: 'Suggestions',
  /** Values of tags of what people look for most, in the order in which it is offered. */
  wanted: 'fitness_centre, elevator, entrance, letter_box, parcel_locker, laundry, toilets, swimming_pool, reception_desk, parking, bicycle_parking, recycling',
  wayOf: '{from} to {to}',
  fromTo: 'From {from}',
  from: 'From',
  to: 'To',
  chooseFrom: 'Choose the start on the map',
  chooseTo: 'Choose the destination on the map',
  choosing: 'Click a place on the map.',
  clearFrom: 'Clear the start',
  clearTo: 'Clear the destination',
  swap: 'Swap start and destination',
  pointOn: 'Point on {floor}',
  unnamed: 'Unnamed place',

  mode: 'Way of travel',
  foot: 'On foot',
  wheelchair: 'By wheelchair',
  avoid: 'Avoid',
  stairs: 'Stairs',
  escalators: 'Escalators',
  lifts: 'Lifts',
  outdoors: 'Outdoors',

  // on the map
  start: 'Start',
  end: 'Destination',
  startLetter: 'A',
  endLetter: 'B',
  elevator: 'Lift',
  steps: 'Stairs',
  escalator: 'Escalator',
  ramp: 'Ramp',
  stopTo: '{connector} to {floor}',
  stopFrom: '{connector} from {floor}',

  // the way
  looking: 'Looking for a route…',
  onFoot: '{time}, {length} on foot',
  byWheelchair: '{time}, {length} by wheelchair',
  floorsOfRoute: 'Floors of the route',
  stepsOfRoute: 'Step by step',
  straight: 'Straight line: {length}.',
  longer: 'The route is {percent} longer.',
  asShort: 'The route is no longer than that.',

  // why there is none, and what to do
  noRoute: 'There is no route.',
  notProcessed:
    'This map has no routes yet: it has not been processed for pathfinding. An operator can do so with ' +
    '“floorgate maps process”.',
  stale: 'This map has no routes at the moment: {why}. An operator has to process it again.',
  unknownFrom: 'The map does not know where the start is. Choose a place on the map instead.',
  unknownTo: 'The map does not know where the destination is. Choose a place on the map instead.',
  offFloorFrom: 'The start is not on floor that can be walked. Choose a place in a room or corridor.',
  offFloorTo: 'The destination is not on floor that can be walked. Choose a place in a room or corridor.',
  footOnly: 'There is a way, but not for wheelchairs.',
  avoidedOnly: 'Every way has something that you avoid: {kinds}.',
  footAndAvoidedOnly: 'There is a way, but not for wheelchairs, and not without what you avoid: {kinds}.',
  barrier: 'In the way: “{step}”',
  goOnFoot: 'Go on foot ({time}, {length})',
  allow: 'Allow {kinds} ({time}, {length})',
  goOnFootAllow: 'Go on foot and allow {kinds} ({time}, {length})',
  closed: 'Closed at the moment: {parts}. Try again once they are open.',
  andMore: 'more',
  connector: 'a connector',
  door: 'a door',
  space: 'a space',
  oneWay: 'There is only a way back: a one-way door or escalator leads in the other direction.',
  apart:
    'Nothing that can be walked joins the two places: a door, or stairs or a lift between floors, may be missing ' +
    'in the drawing.',
  showBarrier: 'Show on the map',

  // what is near
  nearest: 'Nearest amenities',
  nearestOf: 'Nearest: {tags}',
  nothingNear: 'None can be reached from the start.',
  /** Before the name of a place, for screen readers. */
  routeToPlace: 'Route to',
  reach: 'Show what is within reach',
  minutes: 'Minutes of travel',
  within: 'Within {minutes}: units {units}, amenities {amenities}',
  /** In place of {units} or {amenities} when not all were counted. */
  orMore: '{count} or more',

  // drawings that are checked, and plans with problems: what is wrong and what to do are texts of the service
  check: 'Check drawings',
  checkDrawing: 'Check a drawing (SVG) before it is imported: choose it, or drop it on the map',
  readingDrawing: 'Reading the drawing',
  mapOfDrawing: 'The drawing as the service reads it',
  closeDrawing: 'Close the drawing',
  drawingCheck: 'Warnings of the drawing',
  drawingRead: '{levels} levels, {units} units, {hitAreas} hit areas, {shapes} other shapes',
  noWarnings: 'No warnings',
  notes: 'How names were read',
  times: '{count} places',
  firstPlaces: '{count} places; the first {shown} are listed',
  atLine: 'Line {line}',
  wholeDrawing: 'The whole drawing',
  onlyInFile: 'It draws nothing, so it is not on the map',
  unknownUnits: 'the map “{map}” has no unit with this id',
  unknownUnitsRemedy: 'give the shape the id of a unit of this map, or import the unit together with the drawing',
  drawingRejected: 'The drawing cannot be read',

  planProblems: 'Problems of the floor plan',
  noProblems: 'The floor plan has no problems',
} as const

export type Texts = { [name in keyof typeof ENGLISH]: string }

/** Fill the `{names}` of a text. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => String(values[name] ?? slot))
}
