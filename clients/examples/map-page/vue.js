// The element in Vue 3: `h` sets properties, and `onUnitselect` listens to `unitselect`. In templates, name
// the element in `compilerOptions.isCustomElement`.

import { createApp, h, ref } from 'vue'
import { apiKey, map, url } from './service.js'

const Building = {
  setup() {
    const unit = ref(null)
    const select = ({ detail }) => (unit.value = detail)
    return () => [
      h('p', unit.value ? `Vue knows that ${unit.value.name} is selected.` : 'Nothing is selected.'),
      h('floorgate-map', { url, apiKey, map, onUnitselect: select }),
    ]
  },
}

createApp(Building).mount('#vue')
