// GraphiQL makes each tab a control with two buttons in it, which screen readers cannot use: they
// become a list of buttons, of which one is current.

function repair() {
  for (const list of document.querySelectorAll('.graphiql-tabs[role]')) list.removeAttribute('role')
  for (const tab of document.querySelectorAll('.graphiql-tab')) {
    if (!tab.hasAttribute('role') && !tab.hasAttribute('aria-selected')) continue
    const isCurrent = tab.getAttribute('aria-selected') === 'true'
    tab.removeAttribute('role')
    tab.removeAttribute('aria-selected')
    tab.querySelector('.graphiql-tab-button')?.setAttribute('aria-current', isCurrent)
  }
}

new MutationObserver(repair).observe(document.getElementById('page'), {
  subtree: true,
  childList: true,
  attributeFilter: ['role', 'aria-selected'],
})
