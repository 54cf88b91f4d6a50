// The element in React 19: attributes and events are props; `unitselect` is `onunitselect`.

import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { apiKey, map, url } from './service.js'

function Building() {
  const [unit, setUnit] = useState()
  return (
    <>
      <p>{unit ? `React knows that ${unit.name} is selected.` : 'Nothing is selected.'}</p>
      <floorgate-map url={url} apiKey={apiKey} map={map} onunitselect={({ detail }) => setUnit(detail)} />
    </>
  )
}

createRoot(document.getElementById('react')).render(<Building />)
