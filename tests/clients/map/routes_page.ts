// An element with the panels of routes only, and what tests ask for by itself, as `window.routes`.

import { css, html, LitElement } from 'lit'
import { type Api, connect } from '../../../clients/map/src/data/api.js'
import * as availability from '../../../clients/map/src/data/availability.js'
import { type Building, readBuilding, readStart } from '../../../clients/map/src/data/building.js'
import * as measures from '../../../clients/map/src/data/measures.js'
import * as overlays from '../../../clients/map/src/data/overlays.js'
import * as reach from '../../../clients/map/src/data/reach.js'
import * as routes from '../../../clients/map/src/data/routes.js'
import { NameIndex } from '../../../clients/map/src/data/search.js'
import * as waypoints from '../../../clients/map/src/data/waypoints.js'
import * as why from '../../../clients/map/src/data/why.js'
import { elementStyles } from '../../../clients/map/src/element.css.js'
import * as links from '../../../clients/map/src/links.js'
import { RouteFinder } from '../../../clients/map/src/panels/route_finder.js'
import { routesStyles } from '../../../clients/map/src/panels/routes.css.js'
import { routesPanel } from '../../../clients/map/src/panels/routes.js'
import { SearchField } from '../../../clients/map/src/panels/search.js'
import { controls } from '../../../clients/map/src/panels/styles.js'
import { type ExplorerState, INITIAL_STATE } from '../../../clients/map/src/state.js'
import { ENGLISH } from '../../../clients/map/src/texts.js'

const parameters = new URLSearchParams(location.search)
const connectAs = (key: string) => connect(parameters.get('url') ?? '', key)

class RoutesPage extends LitElement {
  static override styles = [controls, elementStyles, routesStyles, css`:host { height: auto; container-type: normal; max-width: 400px; padding: 12px; background: var(--floorgate-surface); }`]
  static override properties = { state: { attribute: false }, choosing: { state: true }, building: { state: true } }
  declare state: ExplorerState
  declare choosing: 'from' | 'to' | undefined
  declare building: Building | undefined
  /** What the panel has told: places shown and routes found. */
  readonly told: unknown[] = []
  readonly api: Api = connectAs(parameters.get('key') ?? '')
  readonly finder = new RouteFinder(this, { isOpen: () => true, start: () => this.state.from, found: ({ kind }) => this.told.push(kind) })

  constructor() {
    super()
    this.state = { ...INITIAL_STATE, map: 'alder-court-floor-plates' }
    void readStart(this.api, 'alder-court-floor-plates')
      .then((start) => readBuilding(this.api, start))
      .then((building) => (this.building = building))
  }

  protected override render() {
    const { building } = this
    if (!building) return html`loading`
    return html`${routesPanel({
      finder: this.finder,
      state: this.state,
      start: this.state.from,
      isLost: false,
      close: () => this.told.push('closed'),
      texts: ENGLISH,
      measure: 'feet',
      floorNames: new Map(building.floors.map(({ id, name }) => [id, name])),
      index: new NameIndex(building),
      nameOf: ({ unit = '', location = '' }) => (building.units.get(unit) ?? building.amenities.get(location))?.name,
      choosing: this.choosing,
      change: (part) => (this.state = { ...this.state, ...part }),
      choose: (end) => (this.choosing = end),
      show: (place) => this.told.push(place),
    })}`
  }
}

customElements.define('floorgate-search', SearchField)
customElements.define('routes-page', RoutesPage)
const modules = { ...availability, ...measures, ...links, ...overlays, ...reach, ...routes, ...waypoints, ...why }
Object.assign(window, { routes: { ...modules, ENGLISH, connectAs } })
document.querySelector('main')!.append(document.createElement('routes-page'))
