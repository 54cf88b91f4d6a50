// Bundles the browser pages into dist/: one HTML file a page, and dist/assets/ with hashed names.
// Run after `npm ci`; the pages then need no network.

import { build } from 'esbuild'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

const ASSETS = 'dist/assets'
const VUE_FLAGS = { __VUE_OPTIONS_API__: 'true', __VUE_PROD_DEVTOOLS__: 'false', __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false' }
const SHARED = {
  bundle: true,
  minify: true,
  metafile: true,
  outdir: ASSETS,
  entryNames: '[name]-[hash]',
  chunkNames: 'chunk-[hash]',
  assetNames: '[name]-[hash]',
  target: 'es2022',
  define: { 'process.env.NODE_ENV': '"production"', ...VUE_FLAGS },
  legalComments: 'linked',
  logLevel: 'warning',
}
const WORKERS = {
  editor: 'monaco-editor/esm/vs/editor/editor.worker.js',
  graphql: 'monaco-graphql/esm/graphql.worker.js',
  json: 'monaco-editor/esm/vs/language/json/json.worker.js',
}
const opener = (id, name) => `<button class="bar-button" id="open-${id}" type="button" aria-haspopup="dialog" hidden>${name}</button>`
const MAP_TOOLS = `${opener('requests', 'Explain')} ${opener('share', 'Share')}`
const PAGES = {
  maps: { title: 'Floorgate · Maps', root: '.', current: 'maps', tools: MAP_TOOLS },
  graphiql: { title: 'Floorgate · GraphiQL', root: '.', current: 'graphql' },
  reference: { title: 'Floorgate · API reference', root: '..', current: 'v1/openapi' },
}
const PHONE_PAGES = ['maps']
const MAP_PACKAGES = ['lit', '@lit/task', 'd3-selection', 'd3-transition', 'd3-zoom']
const ICON = 'icon.svg'

// GraphiQL's own style sheet already holds Monaco's; taking Monaco's again would double it.
const withoutMonacoStyles = {
  name: 'without-monaco-styles',
  setup({ onLoad }) {
    onLoad({ filter: /monaco-editor[/\\]esm[/\\].*\.css$/ }, () => ({ loader: 'empty', contents: '' }))
  },
}

/** Entry point -> the names of its file and style sheet under dist/assets/. */
function outputs(metafile) {
  const entries = Object.entries(metafile.outputs).filter(([, output]) => output.entryPoint)
  return Object.fromEntries(
    entries.map(([file, { entryPoint, cssBundle }]) => [
      path.basename(entryPoint, '.js'),
      { file: path.basename(file), style: cssBundle && path.basename(cssBundle) },
    ]),
  )
}

async function bundleWorkers() {
  const { metafile } = await build({ ...SHARED, entryPoints: WORKERS, format: 'iife' })
  const built = outputs(metafile)
  return Object.fromEntries(
    Object.entries(WORKERS).map(([label, entry]) => [label, built[path.basename(entry, '.js')].file]),
  )
}

/** Bundle pages and the icon; `splitting` puts what they share, and what is loaded later, into files of its own. */
async function bundlePages(workers, pages, splitting) {
  const { metafile } = await build({
    ...SHARED,
    entryPoints: [...pages.map((page) => `${page}.js`), ICON],
    format: 'esm',
    splitting,
    jsx: 'automatic',
    loader: { '.js': 'jsx', '.svg': 'copy', '.graphql': 'text' },
    define: { ...SHARED.define, WORKERS: JSON.stringify(workers) },
    plugins: [withoutMonacoStyles],
    // The component is bundled from its sources, with the packages of the pages: it may have its own beside it.
    alias: { '@floorgate/map': '../../clients/map/src/index.ts', ...Object.fromEntries(MAP_PACKAGES.map((name) => [name, name])) },
  })
  return outputs(metafile)
}

/** Fills `{{name}}` slots; an unknown name is a mistake in the template. */
function fill(template, values) {
  return template.replace(/\{\{(\w+)\}\}/g, (slot, name) => {
    if (!(name in values)) throw new Error(`page.html has a slot ${slot} that nothing fills`)
    return values[name]
  })
}

/** A phone page has its styles in it, so it is seen at once; those of the others are long. */
async function styleOf(page, root, name) {
  if (!PHONE_PAGES.includes(page)) return `<link rel="stylesheet" href="${root}/pages/${name}">`
  return `<style>${(await readFile(`${ASSETS}/${name}`, 'utf8')).trim()}</style>`
}

async function writePages(built) {
  const template = await readFile('page.html', 'utf8')
  for (const [page, { title, root, current, tools = '' }] of Object.entries(PAGES)) {
    const body = await readFile(`${page}.html`, 'utf8')
    const { file, style } = built[page]
    const html = fill(template, { file, style: await styleOf(page, root, style), title, root, tools, body, icon: built[ICON].file })
    const marked = html.replace(`href="${root}/${current}"`, '$& aria-current="page"')
    await writeFile(`dist/${page}.html`, marked)
  }
}

await rm('dist', { recursive: true, force: true })
await mkdir(ASSETS, { recursive: true })
const workers = await bundleWorkers()
const deskPages = Object.keys(PAGES).filter((page) => !PHONE_PAGES.includes(page))
// Over a phone's connection, one file is there sooner than several.
await writePages({ ...(await bundlePages(workers, PHONE_PAGES, false)), ...(await bundlePages(workers, deskPages, true)) })
