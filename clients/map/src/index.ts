// The package: importing it defines <floorgate-map>.

export { FloorgateMap } from './element.js'
export * from './links.js'
export * from './state.js'
export type { FloorgateMapEvents } from './state_element.js'
export { ENGLISH, type Texts } from './texts.js'
export { MapView, viewStyles } from './view/index.js'
