// Programs for the reference that call an operation with the client libraries, by its
// `x-sdk-method`, with the examples of the description.

const KEYWORDS = new RegExp(
  '^(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|' +
    'if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)$',
)

const PYTHON = {
  label: 'Python',
  start: 'from floorgate_client import Floorgate\n\nclient = Floorgate(FLAGS)\n',
  drawing: 'open("drawing.svg").read()',
  flags: (flags) => `flags=${PYTHON.value(flags)}`,
  name: (name) => name.replace(KEYWORDS, '$&_'),
  // JSON is Python but for three words, which stand outside of strings here.
  value: (value) =>
    JSON.stringify(value, null, 1)
      .replace(/\n */g, ' ')
      .replace(/([[{]) | ([\]}])/g, '$1$2')
      .replace(/"(?:[^"\\]|\\.)*"|true|false|null/g, (token) => WORDS[token] ?? token),
  named: (members) =>
    Object.entries(members).map(([name, value]) => `${PYTHON.name(name)}=${PYTHON.value(value)}`),
  inline: (positional, named) => [...positional, ...named].join(', '),
  wrapped: (positional, named) => `\n    ${[...positional, ...named].join(',\n    ')},\n`,
  returns: {
    list: (call, item) => `for ${item} in ${call}:\n    print(${item})`,
    changes: (call) => `for batch in ${call}:\n    print(batch.data, batch.cursor)`,
    content: (call) => `content = ${call}`,
    object: (call) => `print(${call})`,
    nothing: (call) => call,
  },
}
const MAX_COLUMNS = 40 // of arguments in one line: the reference has room for some 65 in all
const WORDS = { true: 'True', false: 'False', null: 'None' }

const TYPESCRIPT = {
  label: 'TypeScript',
  start: "import { Floorgate } from '@floorgate/client'\n\nconst client = new Floorgate(FLAGS)\n",
  drawing: "await readFile('drawing.svg')",
  reading: "import { readFile } from 'node:fs/promises'\n",
  flags: (flags) => `{ flags: ${TYPESCRIPT.value(flags)} }`,
  name: (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase()),
  value: (value) => {
    if (Array.isArray(value)) return `[${value.map(TYPESCRIPT.value).join(', ')}]`
    if (value instanceof Object) return `{ ${TYPESCRIPT.named(value).join(', ')} }`
    return typeof value === 'string' ? `'${value.replace(/[\\']/g, '\\$&')}'` : String(value)
  },
  named: (members) =>
    Object.entries(members).map(([name, value]) => `${name}: ${TYPESCRIPT.value(value)}`),
  inline: (positional, named) =>
    [...positional, ...(named.length ? [`{ ${named.join(', ')} }`] : [])].join(', '),
  wrapped: (positional, named) => [...positional, `{\n  ${named.join(',\n  ')},\n}`].join(', '),
  returns: {
    list: (call, item) => `for await (const ${item} of ${call}) console.log(${item})`,
    changes: (call) => `for await (const batch of ${call}) console.log(batch.data, batch.cursor)`,
    content: (call) => `const content = await ${call}`,
    object: (call) => `console.log(await ${call})`,
    nothing: (call) => `await ${call}`,
  },
}

/** Give each operation of a description that has a method samples in both languages. */
export function addCodeSamples(description) {
  const shared = description.components?.parameters ?? {}
  for (const [path, operations] of Object.entries(description.paths ?? {})) {
    for (const operation of Object.values(operations)) {
      if (!operation['x-sdk-method']) continue
      const parameters = (operation.parameters ?? []).map(
        (each) => shared[each.$ref?.split('/').at(-1)] ?? each,
      )
      operation['x-codeSamples'] = [PYTHON, TYPESCRIPT].map((language) => ({
        lang: language.label,
        label: language.label,
        source: writeSample(language, path, operation, parameters),
      }))
    }
  }
}

function writeSample(language, path, operation, parameters) {
  const { value, name } = language
  const examples = Object.fromEntries(parameters.map((each) => [each.name, each.example ?? '…']))
  const places = operation['x-sdk-method'].split('.')
  const method = places.pop()
  const bound = []
  const receiver = places.map((place) => {
    const [, resource, parameter] = /^(\w+)(?:\((.+)\))?$/.exec(place)
    if (!parameter) return name(resource)
    bound.push(parameter)
    return `${name(resource)}(${value(examples[parameter])})`
  })
  const free = [...path.matchAll(/\{(.+?)\}/g)].map((match) => match[1])
  const positional = free.filter((each) => !bound.includes(each)).map((each) => value(examples[each]))
  const named = {}
  for (const each of parameters) {
    const isShown = each.required || each.name === 'asset'
    if (each.in === 'query' && isShown) named[each.name.replaceAll('-', '_')] = examples[each.name]
  }
  for (const [type, { example }] of Object.entries(operation.requestBody?.content ?? {})) {
    const data = example?.data ?? example ?? {}
    if (!type.endsWith('json')) positional.push(language.drawing)
    else if (Array.isArray(data)) positional.push(value(data))
    else Object.assign(named, data)
  }
  const flag = parameters.find((each) => each.name === 'Experimental-Flags' && each.required)
  const start = language.start.replace('FLAGS', flag ? language.flags(flag.example.split(/, */)) : '')
  const isFeed = operation['x-sdk-method'] === 'changes.list'
  const call = ['client', ...receiver, name(isFeed ? 'follow' : method)].join('.')
  const item = places.at(-1).replace(/\(.*/, '').replace(/^.*_/, '').replace(/s$/, '')
  const program = language.returns[isFeed ? 'changes' : kindOf(operation)]
  const isReading = positional.includes(language.drawing)
  const reading = (isReading && language.reading) || ''
  return `${reading}${start}${program(`${call}(${writeArguments(language, positional, named)})`, item)}\n`
}

function writeArguments(language, positional, named) {
  const members = language.named(named)
  const inline = language.inline(positional, members)
  const fits = inline.length <= MAX_COLUMNS || members.length < 2
  return fits ? inline : language.wrapped(positional, members)
}

function kindOf(operation) {
  const [, response] = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))
  if (response.headers?.Link) return 'list'
  const types = Object.keys(response.content ?? {})
  if (!types.length) return 'nothing'
  return types[0].endsWith('json') ? 'object' : 'content'
}
