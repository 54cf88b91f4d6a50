// The package: importing it defines <floorgate-map>.

export * from './element.js'
export * from './links.js'
export * from './state.js'
export { ENGLISH, type Texts } from './texts.js'
