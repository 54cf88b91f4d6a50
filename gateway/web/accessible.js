// Repairs of third-party markup, for people who use a screen reader or a keyboard.

/** Applies `[selector, repair]` pairs to what an element has and will have. */
export function keepAccessible(root, repairs) {
  const observer = new MutationObserver(() => {
    for (const [selector, repair] of repairs) root.querySelectorAll(selector).forEach(repair)
    observer.takeRecords() // of the repairs themselves
  })
  const attributeFilter = ['role', 'aria-selected', 'aria-controls', 'aria-label']
  observer.observe(root, { subtree: true, childList: true, attributeFilter })
}

export const without = (attribute) => (element) => element.removeAttribute(attribute)
export const withAttribute = (name, value) => (element) => element.setAttribute(name, value)
