// Monaco and React's overlays add <style> elements at run time. The content security policy admits
// only those that carry the nonce of this response, so every one made by our scripts is given it.

const { nonce } = document.querySelector('meta[property="csp-nonce"]')
const createElement = document.createElement

document.createElement = function (name, options) {
  const element = createElement.call(this, name, options)
  if (element instanceof HTMLStyleElement) element.nonce = nonce
  return element
}
