// An operation as an endpoint of REST: its `@endpoint` as fields, the document to save, and its use.

import { getNullableType, GraphQLError, isListType, Kind, parse, print, visit } from 'graphql'
import { writeCurl } from './code_export.js'

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const words = (name) => snake(name).split('_').filter(Boolean)
const plural = (noun) => noun.replace(/(?<=[^aeiou])y$|$/, (end) => (end ? 'ies' : 's'))
const capitalized = (text) => text.replace(/^./, (letter) => letter.toUpperCase())
const responseName = ({ alias, name }) => (alias ?? name).value
const findDirective = ({ directives = [] }, name) => directives.find((each) => each.name.value === name)
const mapArguments = (directive, read) =>
  Object.fromEntries((directive?.arguments ?? []).map(({ name, value }) => [name.value, read(value)]))
const parameterName = (definition) =>
  mapArguments(findDirective(definition, 'parameter'), ({ value }) => value).name ?? words(definition.variable.name.value).join('-')

/** The operation of a tab that GraphiQL would run, with its fragments. Throws GraphQLError. */
export function readOperation({ query, operationName }) {
  const { definitions } = parse(query)
  const operations = definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION)
  const node = operations.find(({ name }) => name?.value === operationName) ?? operations[0]
  if (!node) throw new GraphQLError('There is no operation on screen.')
  if (node.operation === 'subscription') throw new GraphQLError('A subscription has no single response: only a query or a mutation can be an endpoint.')
  const used = new Set([node]) // grows while it is gone through
  const fragments = definitions.filter((each) => !operations.includes(each))
  for (const each of used) {
    visit(each, { FragmentSpread: ({ name }) => fragments.filter((other) => other.name?.value === name.value).forEach((other) => used.add(other)) })
  }
  return { query, node, definitions, used }
}

/** The likeliest place of the response: what is selected alone, as far as a page or a list. */
function findPlace({ selections: [only, ...others] }, parent, before = '') {
  const type = getNullableType(parent?.getFields?.()[only.name?.value]?.type)
  if (others.length || !type || (before && only.name.value === 'data')) return before.slice(0, -1)
  const place = before + responseName(only)
  return isListType(type) || !only.selectionSet ? place : findPlace(only.selectionSet, type, `${place}.`)
}

/** `/v1/x/maps/{map}/amenities` for `MapAmenities($map: ID!)`. */
function proposePath(name, { variableDefinitions = [] }) {
  const rest = words(name)
  const required = variableDefinitions.filter(({ type, defaultValue }) => print(type) === 'ID!' && !defaultValue)
  const parts = required.flatMap((definition) => {
    const noun = words(definition.variable.name.value).filter((word) => word !== 'id')
    if (noun.length && noun.every((word, place) => rest[place] === word)) rest.splice(0, noun.length)
    return [noun.length ? plural(noun.join('-')) : rest.splice(0).join('-'), `{${parameterName(definition)}}`]
  })
  return ['/v1/x', ...parts, rest.join('-')].filter(Boolean).join('/')
}

/** What `@endpoint` says, or a proposal. */
export function readFields({ node }, schema) {
  const name = node.name?.value ?? capitalized(node.selectionSet.selections[0].name?.value ?? '')
  const empty = { name, path: '', summary: '', result: '', ...(node.operation === 'query' ? { method: 'GET', as: '' } : { method: 'POST', as: 'DATA' }) }
  const directive = findDirective(node, 'endpoint')
  if (directive) return { ...empty, as: '', ...mapArguments(directive, ({ value }) => value) }
  const result = findPlace(node.selectionSet, schema?.getRootType(node.operation))
  return { ...empty, path: proposePath(name, node), summary: capitalized(words(name).join(' ')), result: result.includes('.') ? result : '' }
}

/** The text on screen with `@endpoint` as the fields say, and the part of it to save; the rest is as it was written. */
export function compose({ query, node, definitions, used }, { name, method, path, summary, result, as }) {
  const directive = findDirective(node, 'endpoint')
  const typed = { method, path: JSON.stringify(path), summary: JSON.stringify(summary), result: result && JSON.stringify(result), as }
  const pairs = Object.entries({ ...mapArguments(directive, print), ...typed }).filter(([, text]) => text)
  const written = `@endpoint(${pairs.map((pair) => pair.join(': ')).join(', ')})`

  const { loc: { start, startToken }, selectionSet: { loc: { start: brace } } } = node
  const isShort = startToken.kind === '{'
  const unnamed = isShort ? start : start + node.operation.length
  const naming = node.name?.loc ?? { start: unnamed, end: unnamed }
  const before = query.slice(0, naming.start) + (node.name ? name : `${isShort ? 'query' : ''} ${name}`)
  const blank = Math.max(naming.end, query.slice(0, brace).trimEnd().length)
  const screen = directive
    ? before + query.slice(naming.end, directive.loc.start) + written + query.slice(directive.loc.end)
    : `${before}${query.slice(naming.end, blank)}\n${written} ${query.slice(brace)}`
  const pieces = definitions.map((each, place) => {
    const from = definitions[place - 1]?.loc.end ?? 0 // with the comments before it
    if (each === node) return screen.slice(from, each.loc.end + screen.length - query.length)
    return used.has(each) ? query.slice(from, each.loc.end) : ''
  })
  return { screen, document: pieces.map((piece) => piece.trim()).filter(Boolean).join('\n\n') }
}

/** The operation with the endpoint's names: a field without an alias has its own in snake_case. */
export function writePreview({ used }) {
  const Field = (node) => {
    const value = snake(node.name.value)
    return node.alias || value === node.name.value ? undefined : { ...node, alias: { kind: Kind.NAME, value } }
  }
  return print({ kind: Kind.DOCUMENT, definitions: [...used].map((each) => visit(each, { Field })) })
}

/** The response of an endpoint to the result of its preview; `example` has its envelope. */
export function wrap(result, place, example) {
  const names = place ? place.split('.') : Object.keys(result).slice(0, 1)
  const value = names.reduce((part, name) => part?.[name] ?? part?.[snake(name)], result)
  const isWrapped = example?.data !== undefined && Object.keys(example).every((name) => ['paging', 'data'].includes(name))
  return isWrapped && value ? { ...example, data: value.data ?? value } : value
}

/** Each variable in a request: its value, and the parameter that it is, or undefined in the body. */
export function listInputs({ node }, { parameters }, values) {
  return (node.variableDefinitions ?? []).map((definition) => {
    const variable = definition.variable.name.value
    const parameter = parameters.find((each) => [parameterName(definition), snake(variable)].includes(each.name))
    const isRequired = definition.type.kind === Kind.NON_NULL_TYPE && !definition.defaultValue
    return { name: snake(variable), isRequired, parameter, value: values[variable] ?? (isRequired ? parameter?.example : undefined) }
  })
}

/** How a query has a value; one that is no text is the service's own example. */
function inQuery(value, { example }) {
  const shown = [value].flat().some((each) => typeof each === 'object') ? example : value
  return Array.isArray(shown) ? shown.map((each) => String(each).replace(/[\\,]/g, '\\$&')).join(',') : String(shown)
}

const inSnakeCase = (_, value) =>
  value?.constructor === Object ? Object.fromEntries(Object.entries(value).map(([name, member]) => [snake(name), member])) : value

/** The call of an endpoint in a shell, with the flags that it needs. */
export function writeCall({ method, path, openapi }, inputs) {
  const given = inputs.filter(({ value }) => value !== undefined && value !== null)
  const fill = (text, { parameter, value }) => text.replace(`{${parameter?.name}}`, () => encodeURIComponent(value))
  const url = new URL(given.reduce(fill, path.slice(1)), location.href)
  for (const { parameter, value } of given) if (parameter?.in === 'query') url.searchParams.append(parameter.name, inQuery(value, parameter))
  const members = Object.fromEntries(given.filter(({ parameter }) => !parameter).map(({ name, value }) => [name, value]))
  const isWhole = inputs.filter(({ parameter }) => !parameter).map(({ name }) => name).join() === 'data'
  const [mediaType] = Object.keys(openapi.requestBody?.content ?? {})
  const body = mediaType === 'application/json' ? JSON.stringify(isWhole ? members : { data: members }, inSnakeCase) : mediaType && '@FILE'
  const flags = openapi.parameters.filter(({ name }) => name === 'Experimental-Flags').map(({ example }) => example).join()
  return writeCurl(url.href, { method: method === 'GET' ? '' : method, flags, body, mediaType })
}
