// How the service carries out a request: asks for the explanation, and shows it as tables.

import './explain.css'

const HEADER = 'Floorgate-Explain'
const DASH = '–'
const LIMITED = `The key is limited to assets, so values that are not its assets, the index that was \
chosen and what was examined are not shown: they could tell of other assets.`

/** The explanation of a request that `fetch` could send, or an error of the API. */
export async function fetchExplanation(url, { headers, ...request }) {
  try {
    const response = await fetch(url, { ...request, headers: { ...headers, [HEADER]: 'true' } })
    return await response.json()
  } catch (error) {
    return { message: `The explanation could not be read: ${error.message}` }
  }
}

/** Open a dialog with an explanation. */
export function showExplanation(explanation) {
  const heading = element('h2', { id: 'explanation-heading' }, 'Explanation')
  const close = element('button', { type: 'button' }, 'Close')
  const dialog = element(
    'dialog', { className: 'explanation-dialog' },
    element('header', {}, heading, close), renderExplanation(explanation),
  )
  dialog.setAttribute('aria-labelledby', heading.id)
  close.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

/** An explanation as an element, or the message of an error of REST or GraphQL. */
export function renderExplanation(explanation) {
  const message = explanation.message ?? explanation.errors?.[0]?.message
  if (message) return element('p', { className: 'explanation bad', role: 'alert' }, message)
  const { operation, requirements, commands } = explanation
  return element(
    'div', { className: 'explanation' },
    facts(explanation),
    requirements.length ? requirementTable(requirements) : '',
    commands.length ? commandTable(explanation) : '',
    operation ? folded('Operation', `${operation.document}\n\n${json(operation.variables)}`) : '',
    folded('As JSON', json(explanation)),
  )
}

function facts({ request, operation, cost, caches, response }) {
  const { records } = caches
  const error = response?.error?.message ?? response?.error?.errors?.[0]?.message
  const rows = {
    Request: `${request.method} ${request.path}`,
    Operation: operation ? `${operation.kind} ${operation.name ?? '(no name)'}` : 'none: the document was refused',
    Response: response
      ? `${response.status}, ${count(response.bytes)} bytes, ${milliseconds(response.milliseconds)}`
      : 'not run: only queries are',
    ...(error && { Error: error }),
    Cost: `${count(cost.estimated)} estimated${cost.limit === null ? '' : ` of ${count(cost.limit)} allowed`}, ${count(cost.actual)} in the end, ${count(cost.records_read)} records read in lists`,
    Caches: `response: ${caches.response}; fast path: ${caches.fast_path ? 'hit' : 'miss'}` +
      (records ? `; records: ${records.hits} hits, ${records.misses} misses` : ''),
  }
  const pairs = Object.entries(rows).flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)])
  return element('dl', {}, ...pairs)
}

function requirementTable(requirements) {
  const rows = requirements.map(({ where, flag, permission, is_met: isMet }) => [
    where,
    [flag && `flag ${flag}`, permission && `permission ${permission}`].filter(Boolean).join(', '),
    element('span', { className: isMet ? 'good' : 'bad' }, isMet ? 'met' : 'not met'),
  ])
  return table('Requirements', ['Where', 'Needs', ''], rows)
}

function commandTable({ commands, omitted_commands: omitted }) {
  const rows = commands.map((command) => [
    `${command.command} ${command.collection}`,
    element('code', {}, json(command.filter ?? command.pipeline, 0)),
    command.plan ? scans('', command.plan) : scans('One of', command.considered),
    `${count(command.keys_examined)} / ${count(command.documents_examined)}`,
    count(command.returned),
    milliseconds(command.milliseconds),
  ])
  const more = omitted ? `, and ${omitted} more` : ''
  const names = ['Command', 'Filter', 'Index', 'Keys / documents examined', 'Returned', 'Time']
  const drawn = table(`MongoDB commands: ${commands.length}${more}`, names, rows)
  const isLimited = commands.some(({ plan, considered }) => !plan && considered)
  return isLimited ? element('div', {}, drawn, element('p', {}, LIMITED)) : drawn
}

/** The scans of a plan; a key that is limited to assets does not see which of several it is. */
function scans(title, found) {
  if (!found) return 'unknown'
  const texts = found.map(({ stage, index_name: name }) =>
    element('span', { className: stage === 'COLLSCAN' ? 'bad' : '' }, name ? `${stage} ${name}` : stage),
  )
  const lines = title && texts.length > 1 ? [title, ...texts] : texts
  return element('div', {}, ...lines.flatMap((line, place) => (place ? [element('br'), line] : [line])))
}

function table(caption, names, rows) {
  const head = names.map((name) => element(name ? 'th' : 'td', name ? { scope: 'col' } : {}, name))
  const body = rows.map((cells) => element('tr', {}, ...cells.map((cell) => element('td', {}, cell))))
  const drawn = element(
    'table', {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...body),
  )
  return scrolling('div', caption, drawn)
}

function folded(title, text) {
  return element('details', {}, element('summary', {}, title), scrolling('pre', title, text))
}

/** What may be wider than its place: a keyboard can scroll what it can focus. */
function scrolling(tag, label, content) {
  const box = element(tag, { className: 'explanation-scroll', tabIndex: 0, role: 'region' }, content)
  box.setAttribute('aria-label', label)
  return box
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

const json = (value, indent = 2) => JSON.stringify(value, null, indent)
const count = (value) => value?.toLocaleString('en') ?? DASH
const milliseconds = (value) => (value === null ? DASH : `${value.toFixed(1)}\u00a0ms`)
