// The dialog that saves the operation on screen as an endpoint of REST. Each edit asks the service what it would do.

import './save_endpoint.css'
import { useGraphiQL } from '@graphiql/react'
import { useEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { post } from './call.js'
import { parsed } from './code_export.js'
import { compose, listInputs, readFields, readOperation, wrap, writeCall, writePreview } from './endpoint_document.js'
import { session } from './session.js'

const PAUSE_MS = 300
const MAX_CHARACTERS = 20_000 // of a response
const OPTIONS = { accept: 'application/json' } // what the service refuses is no failure of the page
const METHODS = { query: ['GET', 'POST'], mutation: ['POST', 'PUT', 'DELETE'] }
const FORMS = ['', 'PAGE', 'LINKED_LIST', 'LIST', 'OBJECT', 'DATA', 'DOCUMENT', 'NONE']
const NO_KEY = 'Close this, type your API key at the top of the page and press Enter. To save an endpoint, it needs the permission service.endpoints.write.'
const AS_FILE = 'Or give the operation below to the operator, who can apply it as a file: floorgate endpoints apply FILE'
const HELP = {
  PERMISSION_REQUIRED: `Use a key that has it: floorgate keys create --permission service.endpoints.write. ${AS_FILE}`,
  DOCUMENT_NOT_TRUSTED: `This service runs registered documents only, so nothing can be saved here. ${AS_FILE}`,
}
const SAVE = `mutation SaveEndpoint($documents: [String!]!, $breaking: Boolean = false, $dryRun: Boolean = false) {
  saveEndpoints(documents: $documents, breaking: $breaking, dryRun: $dryRun) {
    added changed unchanged breaking endpoints { name method path openapi }
  }
}`

/** What the service says to a document: a plan, or faults and the code of the error. */
async function send(variables) {
  try {
    const { data, errors, message } = await post({ query: SAVE, variables }, OPTIONS)
    if (data?.saveEndpoints) return { plan: data.saveEndpoints, faults: [] }
    const { code, fields = {} } = errors?.[0].extensions ?? {}
    const faults = Object.values(fields).flat()
    return { code, faults: faults.length ? faults : [errors?.[0].message ?? message] }
  } catch (error) {
    return { faults: [`The service could not be asked: ${error.message}`] }
  }
}

function Fault({ text, lines }) {
  const [, line, column, what] = /^documents\[0\]:(\d+):(\d+): (.*)$/s.exec(text) ?? []
  return <li>{line ? <>Line {line}, column {column}: {what} <code>{lines[line - 1]}</code></> : text}</li>
}

function Code({ title, text, children }) {
  return (
    <section aria-label={title}>
      <h3>{title} <button type="button" onClick={() => navigator.clipboard.writeText(text)} aria-label={`Copy ${title}`}>Copy</button></h3>
      {children}
      <pre className="explanation-scroll" tabIndex={0} role="region" aria-label={`Text of ${title}`}>{text}</pre>
    </section>
  )
}

function Parameters({ inputs }) {
  const rows = inputs.map(({ name, isRequired, parameter }) => (
    <tr key={name}><td>{parameter?.name ?? name}</td><td>{parameter?.in ?? 'body'}{isRequired && ', required'}</td><td>{parameter?.description}</td></tr>
  ))
  const title = rows.length ? 'Parameters' : 'No parameters'
  return <div className="explanation-scroll" tabIndex={0} role="region" aria-label={title}><table><caption>{title}</caption><tbody>{rows}</tbody></table></div>
}

/** The response to the variables on screen, or the example of the description. */
function Preview({ openapi, sample, place }) {
  const [, { content = {} }] = Object.entries(openapi.responses).find(([status]) => status.startsWith('2'))
  const { example = 'No body' } = Object.values(content)[0] ?? {}
  const value = sample?.data && !sample.errors ? wrap(sample.data, place, example) : undefined
  const shown = value === undefined ? example : value
  const hasPages = openapi.parameters.some(({ name }) => name === 'page')
  const note = value === null ? ' there is none: an object would be 404' : example.paging ? `; paging is an example${hasPages ? '' : ', and there is only the first page: a variable $page gives the others'}` : ''
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown, null, 2)
  const reason = sample?.errors ? `: with the variables on screen, the operation failed. ${sample.errors[0].message}` : ', made from the types.'
  return (
    <Code title="Response" text={text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}\n…` : text}>
      <p>{value === undefined ? `An example${reason}` : `With the variables on screen${note}.`}</p>
    </Code>
  )
}

function Editor({ operation, schema, variables }) {
  const queryEditor = useGraphiQL((state) => state.queryEditor)
  const [fields, setFields] = useState(() => readFields(operation, schema))
  const [allowed, setAllowed] = useState() // the document that may break callers
  const [answer, setAnswer] = useState({ faults: [] })
  const [saved, setSaved] = useState()
  const [sample, setSample] = useState()
  const latest = useRef(0)
  const { screen, document } = compose(operation, fields)
  const isBreaking = allowed === document
  const kind = operation.node.operation

  const ask = async (options) => {
    const number = ++latest.current
    const asked = { document, ...(await send({ documents: [document], ...options })) }
    if (number === latest.current) setAnswer(asked) // else a newer edit has been asked about
    return asked.plan
  }
  const save = async (event) => {
    event.preventDefault()
    if (!(await ask({ breaking: isBreaking }))) return
    setSaved(document)
    queryEditor?.setValue(screen)
  }
  useEffect(() => {
    const timer = setTimeout(() => ask({ dryRun: true }), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [document])
  useEffect(() => {
    if (kind === 'query') post({ query: writePreview(operation), variables }, OPTIONS).then(setSample, () => {})
  }, [])

  const { plan, faults, code } = answer
  const [endpoint] = plan?.endpoints ?? []
  const isSaved = saved === document
  const breaking = isSaved ? [] : plan?.breaking ?? []
  const effect = plan?.added.length ? 'will be added' : plan?.changed.length ? 'is there already, and will be changed' : 'is saved already, as it is here'
  const inputs = endpoint && listInputs(operation, endpoint.openapi, variables)
  const edit = (name) => ({ value: fields[name], onChange: ({ target }) => setFields({ ...fields, [name]: target.value }) })
  const choose = (name, words) => (
    <select {...edit(name)}>{[...new Set([...words, fields[name]])].map((word) => <option key={word} value={word}>{word || 'As the type says'}</option>)}</select>
  )
  return (
    <form className="explanation" onSubmit={save}>
      <div className="fields">
        <label>Name <input {...edit('name')} required /></label>
        <label>Summary <input {...edit('summary')} required /></label>
        <label>Method {choose('method', METHODS[kind])}</label>
        <label>Path <input {...edit('path')} required spellCheck={false} /></label>
        <label>Result <input {...edit('result')} placeholder="The only root field" spellCheck={false} /></label>
        <label>Form {choose('as', FORMS)}</label>
      </div>
      <div role="status" aria-busy={answer.document !== document}>
        {endpoint && <p className={isSaved ? 'good' : ''}>{isSaved ? `Saved. ${endpoint.name} answers on every gateway within a second.` : `${endpoint.name} ${effect}.`}</p>}
        {isSaved && <a href={`v1/openapi#/${encodeURIComponent(endpoint.openapi.tags[0])}/${endpoint.openapi.operationId}`} target="_blank" rel="opener">Show it in the API reference</a>}
        {breaking.length > 0 && <p>This breaks callers:</p>}
        <ul className="bad">{[...breaking, ...faults].map((text) => <Fault key={text} text={text} lines={answer.document.split('\n')} />)}</ul>
        {HELP[code] && <p>{HELP[code]}</p>}
      </div>
      {breaking.length > 0 && (
        <label className="check"><input type="checkbox" checked={isBreaking} onChange={({ target }) => setAllowed(target.checked ? document : undefined)} /> Save it nevertheless: callers that rely on this get errors or other responses until they are changed. Another name and path would leave them theirs.</label>
      )}
      <button type="submit" disabled={answer.document !== document || !plan || (breaking.length > 0 && !isBreaking)}>Save</button>
      {endpoint && <Parameters inputs={inputs} />}
      {endpoint && <Code title="Call" text={writeCall(endpoint, inputs)}><p>{endpoint.method} {new URL('.', location.href).href + endpoint.path.slice(1)}</p>{endpoint.openapi['x-permission'] && <p>The key needs the permission {endpoint.openapi['x-permission']}.</p>}</Code>}
      {endpoint && <Preview openapi={endpoint.openapi} sample={sample} place={fields.result} />}
      <Code title="Operation" text={document} />
    </form>
  )
}

/** Opens the dialog for the operation of the current tab. */
export function SaveButton() {
  const { tab, schema } = useGraphiQL(({ tabs, activeTabIndex, schema }) => ({ tab: tabs[activeTabIndex], schema }))
  const [opened, setOpened] = useState()
  const dialog = useRef()
  useEffect(() => dialog.current?.showModal(), [opened])
  const open = () => {
    try {
      setOpened(session().key ? { operation: readOperation({ ...tab, query: tab.query ?? '' }) } : { fault: NO_KEY })
    } catch (error) {
      setOpened({ fault: String(error) }) // with the line
    }
  }
  return (
    <>
      <button type="button" onClick={open}>Save as endpoint</button>
      {opened && createPortal(
        <dialog ref={dialog} className="explanation-dialog save-endpoint" aria-labelledby="save-heading" onClose={() => setOpened()}>
          <header><h2 id="save-heading">Save as endpoint</h2><form method="dialog"><button>Close</button></form></header>
          {opened.fault ? <pre role="alert">{opened.fault}</pre> : <Editor operation={opened.operation} schema={schema} variables={parsed(tab.variables)} />}
        </dialog>,
        document.body,
      )}
    </>
  )
}
