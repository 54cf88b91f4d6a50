// The line below a response: status, time, size, cost, headers, and the flag that an error names.

import { useGraphiQL, useGraphiQLActions } from '@graphiql/react'
import { useSyncExternalStore } from 'react'
import { explain, lastResponse, subscribeToResponses } from './call.js'
import { parsed } from './code_export.js'
import { showExplanation } from './explain.js'
import { SaveButton } from './save_endpoint.js'
import { switchOn } from './session.js'

const COST_HEADER = 'floorgate-cost'

function inUnits(bytes) {
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`
}

function FlagButton({ flag }) {
  const { run, stop } = useGraphiQLActions()
  const runWithFlag = () => {
    switchOn(flag)
    stop() // of a subscription that has not ended yet, `run` would be the end
    run()
  }
  return <button type="button" onClick={runWithFlag}>Switch on {flag} and run again</button>
}

const UNTRUSTED =
  'This service runs only documents that its operator has registered. It does not show its schema ' +
  'here either. To run a registered document, paste exactly its text.'

/** What came of a subscription so far. */
function Events({ events, isOpen }) {
  const counted = `${events} ${events === 1 ? 'event' : 'events'}`
  return <span>{isOpen ? `${counted} so far: the latest is shown, the button stops` : `${counted}, stopped`}</span>
}

/** The measures of a response that came at once. */
function Measures({ status, milliseconds, bytes, headers }) {
  const cost = headers.find(([name]) => name === COST_HEADER)?.[1]
  return (
    <>
      <span className={status < 400 ? 'good' : 'bad'}>{status}</span>
      <span>{milliseconds} ms</span>
      <span>{inUnits(bytes)}</span>
      {cost && <span>cost {cost}</span>}
    </>
  )
}

function Headers({ headers }) {
  return (
    <details>
      <summary>Headers</summary>
      <dl tabIndex={0} aria-label="Headers of the response">
        {headers.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} `}>{value}</dd>])}
      </dl>
    </details>
  )
}

/** Shows how the service carries out the operation of the current tab. */
function ExplainButton() {
  const { query, variables, operationName } = useGraphiQL(({ tabs, activeTabIndex }) => tabs[activeTabIndex])
  const request = { query: query ?? '', variables: parsed(variables), operationName }
  return <button type="button" onClick={async () => showExplanation(await explain(request))}>Explain</button>
}

/** What came of the operation that ran last. */
function Outcome({ response }) {
  return (
    <>
      {response.headers ? <Measures {...response} /> : <Events {...response} />}
      {response.isUntrusted && <span className="bad">{UNTRUSTED}</span>}
      {response.flags.map((flag) => <FlagButton key={flag} flag={flag} />)}
    </>
  )
}

export function ResponseBar() {
  const response = useSyncExternalStore(subscribeToResponses, lastResponse)
  return (
    <div className="response-bar" role={response ? 'status' : undefined}>
      {response ? <Outcome response={response} /> : 'Run an operation to see its status, time, size and cost.'}
      <ExplainButton />
      <SaveButton />
      {response?.headers && <Headers {...response} />}
    </div>
  )
}
