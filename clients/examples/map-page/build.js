// Copies the component beside the page, as `npm install @floorgate/map` and a bundler would, and bundles both frameworks.

import { context } from 'esbuild'
import { copyFile, mkdir } from 'node:fs/promises'

await mkdir('dist', { recursive: true })
await copyFile('../../map/dist/floorgate-map.js', 'dist/floorgate-map.js')

const examples = await context({
  entryPoints: ['react.jsx', 'vue.js'],
  bundle: true,
  jsx: 'automatic',
  outdir: 'dist',
  format: 'esm',
  external: ['./floorgate-map.js'],
  alias: { vue: 'vue/dist/vue.runtime.esm-bundler.js' },
  define: {
    'process.env.NODE_ENV': '"production"',
    __VUE_OPTIONS_API__: 'false',
    __VUE_PROD_DEVTOOLS__: 'false',
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
  },
})
await examples.rebuild()
if (process.argv.includes('--serve')) {
  const { port } = await examples.serve({ servedir: '.', port: 5173 })
  console.log(`http://localhost:${port}`)
} else {
  await examples.dispose()
}
