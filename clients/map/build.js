// Bundles the component into files that load nothing else, and prints the size of the one for pages.

import { build } from 'esbuild'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'

const FILE = 'dist/floorgate-map.js'
const SCRIPT = 'dist/floorgate-map.script.js' // without exports: for any script element
const MAX_KB = 120

for (const [outfile, format] of [[FILE, 'esm'], [SCRIPT, 'iife']])
  await build({
    entryPoints: ['src/index.ts'],
    outfile,
    bundle: true,
    minify: true,
    format,
    target: 'es2022',
    legalComments: 'inline',
    logLevel: 'warning',
  })

const kilobytes = gzipSync(await readFile(SCRIPT), { level: 9 }).length / 1000
console.log(`${SCRIPT}: ${kilobytes.toFixed(1)} kB gzipped`)
if (kilobytes > MAX_KB) throw new Error(`${SCRIPT} is over ${MAX_KB} kB gzipped`)
