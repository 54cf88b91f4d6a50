// What a link gives a page in the fragment of its address, which browsers do not send: `#key=fgk_…`.

/** Return a value of the fragment, and remove it from the address and this entry of the history. */
export function takeFromFragment(name) {
  const values = new URLSearchParams(location.hash.slice(1))
  const value = values.get(name)
  if (value === null) return null
  values.delete(name)
  const rest = values.size ? `#${values}` : ''
  history.replaceState(history.state, '', location.pathname + location.search + rest)
  return value
}
