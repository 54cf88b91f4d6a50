// A typed client of Floorgate: a class with the resources of the API, its errors, and the types of
// what it takes and returns by their names in the OpenAPI description.

export type { Content, List, Options, Page } from './core.js'
export * from './errors.js'
export { Floorgate } from './resources.js'
export type * from './resources.js'
export type * from './schema.js'
