// GraphiQL over the gateway's own /graphql. The schema is read anew whenever the key changes.

import './nonce.js'
import './workers.js'
import 'graphiql/style.css'
import '@graphiql/plugin-explorer/style.css'
import './bar.css'
import './graphiql.css'
import { explorerPlugin } from '@graphiql/plugin-explorer'
import { HISTORY_PLUGIN } from '@graphiql/plugin-history'
import { useGraphiQL, useGraphiQLActions } from '@graphiql/react'
import { GraphiQL } from 'graphiql'
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { keepAccessible, without } from './accessible.js'
import { fetcher } from './call.js'
import { codeExport } from './code_export.js'
import { takeFromFragment } from './fragment.js'
import { ResponseBar } from './response_bar.js'
import { session, subscribe } from './session.js'
import { loadSamples, TASK_TABS } from './tasks.js'

const REPAIRS = [
  // Each tab is a control with two buttons in it: they become a list of buttons, of which one is current.
  ['.graphiql-tabs[role]', without('role')],
  ['.graphiql-tab[role]', without('role')],
  ['.graphiql-tab[aria-selected]', showCurrent],
  ['.graphiql-history-item-label[aria-label]', without('aria-label')], // it has a text
  ['.graphiql-explorer-root :is(input, select):not([aria-label])', nameAfterArgument],
]

function showCurrent(tab) {
  const isCurrent = tab.getAttribute('aria-selected')
  tab.removeAttribute('aria-selected')
  tab.querySelector('.graphiql-tab-button')?.setAttribute('aria-current', isCurrent)
}

function nameAfterArgument(field) {
  field.setAttribute('aria-label', field.closest('[data-arg-name]')?.dataset.argName ?? (field.placeholder || 'Kind of operation'))
}

const PLUGINS = [HISTORY_PLUGIN, explorerPlugin({ showAttribution: false }), codeExport]

/** The operation of a link such as `#query=…&variables=…`. It opens a tab and does not run. */
function takeLinkedTab() {
  const [query, variables] = [takeFromFragment('query'), takeFromFragment('variables')]
  return query ? { query, variables: variables ?? '' } : null
}

/** Once the key is known, put records that it sees into the variables of the ready-made tabs. */
function useSamples(key) {
  const { tabs, activeTabIndex, variableEditor } = useGraphiQL((state) => state)
  const { changeTab, updateActiveTabValues } = useGraphiQLActions()
  const shown = useRef()
  shown.current = { tabs, activeTabIndex }
  useEffect(() => {
    if (!key || !variableEditor) return
    loadSamples().then((fill) => {
      const { tabs, activeTabIndex } = shown.current // the user may have changed them meanwhile
      tabs.forEach(({ variables }, index) => {
        const filled = fill(variables ?? '')
        if (filled === (variables ?? '')) return
        changeTab(index)
        variableEditor.setValue(filled)
        updateActiveTabValues({ variables: filled })
      })
      changeTab(activeTabIndex)
    })
    // Only the key decides: later edits of tabs are the user's.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, variableEditor])
}

/** Follow the system when it turns dark or light; GraphiQL's editors look only once. */
function useSystemTheme() {
  const theme = useGraphiQL((state) => state.theme)
  const { setTheme } = useGraphiQLActions()
  useEffect(() => {
    if (theme) return undefined // the user's choice
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const follow = () => setTheme(null)
    dark.addEventListener('change', follow)
    return () => dark.removeEventListener('change', follow)
  }, [theme, setTheme])
}

/** GraphiQL's button does nothing until its editors are there. */
function useReadyButton() {
  const isReady = useGraphiQL(({ queryEditor, responseEditor }) => Boolean(queryEditor && responseEditor))
  useEffect(() => {
    document.querySelector('.graphiql-execute-button').disabled = !isReady
  }, [isReady])
}

function Footer({ apiKey }) {
  useSamples(apiKey)
  useReadyButton()
  useSystemTheme()
  return <ResponseBar />
}

const LINKED = takeLinkedTab()

function Page() {
  const { key } = useSyncExternalStore(subscribe, session)
  // Another function for another key: GraphiQL then asks for the schema again.
  const fetchForKey = useMemo(() => (...call) => fetcher(...call), [key])
  return (
    <GraphiQL
      fetcher={fetchForKey}
      // null: without a key there is no schema to ask for
      schema={key ? undefined : null}
      // Without tabs of an earlier visit, GraphiQL opens the first of these and no other.
      defaultTabs={LINKED ? [LINKED, ...TASK_TABS] : TASK_TABS}
      initialQuery={LINKED?.query}
      initialVariables={LINKED?.variables}
      plugins={PLUGINS}
      defaultEditorToolsVisibility="variables"
      isHeadersEditorEnabled={false}
      shouldPersistHeaders={false}
      inputValueDeprecation
      schemaDescription
    >
      <GraphiQL.Logo>{' '}</GraphiQL.Logo>
      <GraphiQL.Footer>
        <Footer apiKey={key} />
      </GraphiQL.Footer>
    </GraphiQL>
  )
}

keepAccessible(document.getElementById('page'), REPAIRS)
createRoot(document.getElementById('page')).render(<Page />)
