// The package: the picture of a map.

export * from './view/index.ts'
