// A page with the panels of warnings, and what tests ask for by itself, as `window.routes`.

import { html, render } from 'lit'
import { connect } from '../../../clients/map/src/data/api.js'
import * as check from '../../../clients/map/src/data/drawing_check.js'
import * as problems from '../../../clients/map/src/data/plan_problems.js'
import { drawingCheckPanel, planProblemsPanel, rejectedDrawing } from '../../../clients/map/src/panels/drawing_check.js'
import { ENGLISH as texts } from '../../../clients/map/src/texts.js'

const parameters = new URLSearchParams(location.search)
const api = connect(parameters.get('url') ?? '', parameters.get('key') ?? '')
const told: unknown[] = []

async function drop(svg: string): Promise<check.DrawingCheck | null> {
  try {
    const checked = await check.checkDrawing(api, svg)
    render(drawingCheckPanel({ check: checked, texts, onPlace: ({ id }) => told.push(id) }), document.body)
    return checked
  } catch (error) {
    if (!(error instanceof check.RejectedDrawing)) throw error
    render(html`<main>${rejectedDrawing(error, texts)}</main>`, document.body)
    return null
  }
}

function showProblems(report: problems.RoutingReport): void {
  const onProblem = (...problem: unknown[]): unknown => told.push(problem)
  render(planProblemsPanel({ report, texts, floorName: (id) => `Floor ${id}`, onProblem }), document.body)
}

Object.assign(window, { routes: { ...check, ...problems, api, drop, showProblems, told } })
